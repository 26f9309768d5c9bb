// Committed part of the corpus: the service measures each file like ffmpeg and ffprobe, from disk and by ranges.
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ALL, COMMITTED_DIR, isPicture, KEPT, keptBytes } from "./all.ts";
import { check } from "./check.ts";
import { EXPECTED_PATH, readExpected, sha256Of } from "./expected.ts";

const { files } = readExpected();

test.each(KEPT.map((recipe) => [recipe.name, recipe] as const))(
  "measures %s like ffmpeg, from disk and by ranges",
  async (name, recipe) => {
    const bytes = await keptBytes(recipe);
    const { sha256, ...reference } = files[name] ?? { sha256: "its values are not in expected.json" };
    expect(sha256Of(bytes)).toBe(sha256);
    expect((await check(recipe, bytes, reference)).faults).toEqual([]);
  },
);

test("has at least 150 uncut files, each with a reference length or size, in less than 3 MB", () => {
  expect(KEPT.filter(({ isCut }) => !isCut).length).toBeGreaterThanOrEqual(150);
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length);
  expect(Object.keys(files).sort()).toEqual(KEPT.map(({ name }) => name).sort());
  for (const recipe of KEPT.filter(({ isCut }) => !isCut)) {
    const { width = 0, videoS = 0, soundS = 0 } = files[recipe.name] ?? {};
    expect([recipe.name, isPicture(recipe) ? width > 0 : videoS + soundS > 0]).toEqual([recipe.name, true]);
  }
  const names = readdirSync(COMMITTED_DIR);
  expect(names.sort()).toEqual(
    KEPT.filter(({ edit }) => !edit)
      .map(({ name }) => name)
      .sort(),
  );
  const paths = [EXPECTED_PATH, ...names.map((name) => join(COMMITTED_DIR, name))];
  expect(paths.reduce((sum, path) => sum + statSync(path).size, 0)).toBeLessThan(3_000_000);
});
