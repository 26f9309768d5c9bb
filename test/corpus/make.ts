// Creates the corpus in a directory: writes the committed files and makes the others with ffmpeg and sox.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { ALL, KEPT, keptBytes } from "./all.ts";
import type { Recipe } from "./recipe.ts";

const FF = "ffmpeg -v error -nostdin -y -bitexact";
const IS_KEPT = new Set(KEPT);

const makeOne = async ({ name, sh = "", from, edit }: Recipe, dir: string): Promise<void> => {
  if (from !== undefined && edit) {
    await Bun.write(join(dir, name), edit(Buffer.from(await Bun.file(join(dir, from)).bytes())));
    return;
  }
  await $`bash -c ${`set -e; O=${name}; ${sh.replaceAll("$FF", FF)}`}`.cwd(dir).quiet();
};

/** The tools that make and measure the uncommitted files; the committed ones needed more tools. */
const TOOLS = ["ffmpeg", "ffprobe", "sox"];
/** Why files cannot be made on this machine; undefined if they can. */
export const whyNotMade = (): string | undefined => {
  const missing = TOOLS.filter((tool) => Bun.which(tool) === null);
  return missing.length === 0 ? undefined : `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not installed`;
};

/** Creates the whole corpus in a directory, in order. @param isComplete makes the committed files too, which needs more tools */
export const makeCorpus = async (dir: string, isComplete = false): Promise<void> => {
  for (const recipe of ALL) {
    if (existsSync(join(dir, recipe.name))) continue;
    if (IS_KEPT.has(recipe) && !isComplete) await Bun.write(join(dir, recipe.name), await keptBytes(recipe));
    else
      await makeOne(recipe, dir).catch((error: unknown) => {
        throw new Error(`${recipe.name}: ${String(Object(error).stderr ?? error)}`);
      });
  }
};
