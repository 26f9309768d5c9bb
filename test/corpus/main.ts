// Program of `npm run corpus [-- --kept]`: compares the whole corpus with ffmpeg and ffprobe and prints a table.
// The last line of its output is `N passed, N failed`.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFlags } from "../flags.ts";
import { dropScratch } from "../scratch.ts";
import { ALL, isPicture, KEPT, keptBytes } from "./all.ts";
import { type Checked, check } from "./check.ts";
import { readExpected } from "./expected.ts";
import { makeCorpus, whyNotMade } from "./make.ts";
import type { Recipe } from "./recipe.ts";
import { type Reference, referenceOf } from "./reference.ts";

const HELP = `Measures every file of the corpus with the service's readers, from disk and by ranges, and compares the values with
ffmpeg (decoded samples) and ffprobe (shown packets): lengths within one frame, equal sizes, cut files detected.

  npm run corpus              creates the uncommitted files and measures with the installed ffmpeg; needs ffmpeg and sox
  npm run corpus -- --kept    only files that need no tool, against the committed values

  --kept   creates no files
  --help`;

const flags = readFlags({ kept: { type: "boolean", default: false }, help: { type: "boolean", default: false } });
const say = (line: string) => process.stdout.write(`${line}\n`);

const seconds = (value: number | undefined) => (value === undefined ? "" : value.toFixed(3)).padStart(9);
const report = ({ name, found, wantS, reads, readBytes, faults }: Checked): string => {
  const got = found?.ms === undefined || found.kind === "image" ? undefined : found.ms / 1000;
  const size = (found?.width === undefined ? "" : `${found.width}×${found.height}`).padStart(11);
  const cost = `${reads} reads ${(readBytes / 1024).toFixed(0)} KiB`.padStart(22);
  const verdict = faults.length === 0 ? "" : `  ✗ ${faults.join("; ")}`;
  return `${name.padEnd(28)} ${(found?.mime ?? "refused").padEnd(18)} ${seconds(got)} ${seconds(wantS)} ${size} ${cost}${verdict}`;
};

type Source = {
  recipes: readonly Recipe[];
  bytesOf(recipe: Recipe): Promise<Uint8Array>;
  valuesOf(recipe: Recipe): Promise<Reference>;
};

const kept = (): Source => {
  const { files } = readExpected();
  return { recipes: KEPT, bytesOf: keptBytes, valuesOf: async ({ name }) => files[name] ?? {} };
};
const whole = (dir: string): Source => ({
  recipes: ALL,
  bytesOf: ({ name }) => Bun.file(join(dir, name)).bytes(),
  valuesOf: async (recipe) => recipe.size ?? referenceOf(join(dir, recipe.name), isPicture(recipe)),
});

const checkAll = async ({ recipes, bytesOf, valuesOf }: Source): Promise<number> => {
  say(
    `${"file".padEnd(28)} ${"type".padEnd(18)} ${"found, s".padStart(9)} ${"right, s".padStart(9)} ${"size".padStart(11)} ${"by ranges".padStart(22)}`,
  );
  let failed = 0;
  for (const recipe of recipes) {
    const checked = await check(recipe, await bytesOf(recipe), recipe.isCut ? {} : await valuesOf(recipe));
    if (checked.faults.length > 0) failed += 1;
    say(report(checked));
  }
  say(`${recipes.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
};

const run = async (): Promise<number> => {
  const why = flags.kept ? "--kept is set" : whyNotMade();
  if (why !== undefined) {
    say(`skipped: ${ALL.length - KEPT.length} of ${ALL.length} files, which need ffmpeg and sox: ${why}`);
    return checkAll(kept());
  }
  const dir = mkdtempSync(join(tmpdir(), "corpus-"));
  try {
    await makeCorpus(dir);
    return await checkAll(whole(dir));
  } finally {
    dropScratch(dir);
  }
};

if (flags.help) say(HELP);
else process.exit(await run());
