// Tests that the mutants fit the sources, and that a hunt finds one of them.
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MUTANTS } from "./all.ts";
import { hunt } from "./hunt.ts";
import { filesOf, planted, ROOT } from "./mutant.ts";

test("there are at least 18 mutants, each with a unique name and a sentence about what it breaks", () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(18);
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.filter(({ breaks, standsFor }) => !/^[A-Z].{20,}\.$/.test(breaks) || standsFor.length < 10)).toEqual([]);
});

describe("every patch fits its source exactly once and changes it", () => {
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))("%s", async (_, mutant) => {
    for (const file of filesOf(mutant)) {
      expect(existsSync(join(ROOT, file))).toBe(true);
      const text = planted(mutant, file);
      expect(text).not.toBe(await Bun.file(join(ROOT, file)).text());
      // Every test would find a patch that does not parse, so it would prove nothing.
      expect(new Bun.Transpiler({ loader: "ts" }).transformSync(text).length).toBeGreaterThan(0);
    }
  });
});

test("throws 'is stale' for a mutant whose source has changed", () => {
  const [mutant] = MUTANTS;
  if (!mutant) throw new Error("there is no mutant");
  const file = "src/domain/clock.ts";
  expect(() => planted({ ...mutant, patches: [{ file, find: "nowhere to be found", put: "" }] }, file)).toThrow("is stale");
  expect(() => planted({ ...mutant, patches: [{ file, find: "nowMs", put: "" }] }, file)).toThrow("is stale");
});

test("a hunt finds a planted bug, and nothing without it", async () => {
  expect((await hunt("asking", "gone-at-once", 1, null)).found).toBe(true);
  expect((await hunt("asking", null, 1, 100)).found).toBe(false);
}, 120_000);
