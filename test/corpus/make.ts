// Makes the corpus in a directory: what is kept is written there, and what machines with ffmpeg and sox can make is made.
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

/** What makes the files that are not kept, and says their lengths; what is kept was made by more than that. */
const TOOLS = ["ffmpeg", "ffprobe", "sox"];
/** Why files cannot be made here; undefined where they can. */
export const whyNotMade = (): string | undefined => {
  const missing = TOOLS.filter((tool) => Bun.which(tool) === null);
  return missing.length === 0 ? undefined : `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not installed`;
};

/** Puts the whole corpus into a directory, in order. @param isAnew makes what is kept too, for which more tools are needed */
export const makeCorpus = async (dir: string, isAnew = false): Promise<void> => {
  for (const recipe of ALL) {
    if (existsSync(join(dir, recipe.name))) continue;
    if (IS_KEPT.has(recipe) && !isAnew) await Bun.write(join(dir, recipe.name), await keptBytes(recipe));
    else
      await makeOne(recipe, dir).catch((error: unknown) => {
        throw new Error(`${recipe.name}: ${String(Object(error).stderr ?? error)}`);
      });
  }
};
