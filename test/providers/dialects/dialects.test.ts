// Every dialect file against the simulator, and against the bodies of the provider's pages.
import { afterAll, describe, expect, test } from "bun:test";
import { readDialects } from "../../../src/providers/dialect/load.ts";
import { CASES } from "./all.ts";
import { promisesOf } from "./promises.ts";

const dialects = readDialects(null);

test("every dialect that ships is here", () => {
  expect([...new Set(CASES.map(({ provider }) => provider))].sort()).toEqual([...dialects.keys()].sort());
});

for (const one of CASES) {
  const { promises, close } = promisesOf(one, dialects);
  afterAll(close);
  for (const [of, kept] of Map.groupBy(promises, (promised) => promised.of))
    describe(of, () => {
      for (const { name, keep } of kept) test(name, async () => await keep());
    });
}
