// Rebuilds the committed corpus files and their reference values: `node scripts/bun.mjs test/corpus/keep.ts DIRECTORY`.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { COMMITTED_DIR, isPicture, KEPT, keptBytes } from "./all.ts";
import { EXPECTED_PATH, type Expected, type ExpectedFile, sha256Of } from "./expected.ts";
import { makeCorpus } from "./make.ts";
import { referenceOf } from "./reference.ts";

const dir = process.argv[2];
if (!dir) throw new Error("usage: keep.ts DIRECTORY (the whole corpus is created there)");
mkdirSync(dir, { recursive: true });
await makeCorpus(dir, true);
rmSync(COMMITTED_DIR, { recursive: true, force: true });
mkdirSync(COMMITTED_DIR);

const committed = KEPT.filter(({ edit }) => edit === undefined);
for (const { name } of committed) copyFileSync(join(dir, name), join(COMMITTED_DIR, name));
const files: Record<string, ExpectedFile> = {};
for (const recipe of KEPT) {
  const reference = recipe.isCut ? {} : (recipe.size ?? (await referenceOf(join(dir, recipe.name), isPicture(recipe))));
  files[recipe.name] = { sha256: sha256Of(await keptBytes(recipe)), ...reference };
}

const firstLine = (text: string) => text.trim().split("\n")[0] ?? "";
const madeBy = [
  ...[$`ffmpeg -version`, $`ffprobe -version`, $`sox --version`, $`mkvmerge --version`, $`lame --version`, $`flac --version`],
  ...[$`opusenc --version`, $`oggenc --version`, $`twolame --help`.nothrow()],
  $`python3 -c "import PIL, pillow_heif; print('Pillow', PIL.__version__, 'with pillow_heif', pillow_heif.__version__)"`,
];
const versions: string[] = [];
for (const asked of madeBy) {
  const { stdout, stderr } = await asked.quiet();
  versions.push(firstLine(`${stdout}`) || firstLine(`${stderr}`));
}
const expected: Expected = { madeBy: versions, files };
await Bun.write(EXPECTED_PATH, `${JSON.stringify(expected, null, 2)}\n`);
process.stdout.write(`${KEPT.length} files that need no tool, ${committed.length} of them committed\n`);
