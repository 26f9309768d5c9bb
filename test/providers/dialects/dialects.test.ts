// Contract tests of every dialect file: against the simulator and recorded provider responses.
import { afterAll, describe, expect, test } from "bun:test";
import { readDialects } from "../../../src/providers/dialect/load.ts";
import { builtInProviders, createProviders } from "../../../src/providers/providers.ts";
import { PROVIDERS } from "../../../src/torture/simulation/market.ts";
import { CASES } from "./all.ts";
import { promisesOf } from "./contract.ts";

const dialects = readDialects(null);

test("every shipped dialect has a case", () => {
  expect([...new Set(CASES.map(({ provider }) => provider))].sort()).toEqual([...dialects.keys()].sort());
});

test("the simulation covers every recovery method that a provider declares", () => {
  const providers = createProviders({ settings: {}, dialects, isOwned: async () => false });
  const declared = new Set(builtInProviders().map((id) => providers.traits(id).recovery));
  const played = new Set(Object.values(PROVIDERS).map(({ recovery }) => recovery));
  expect([...declared].filter((recovery) => !played.has(recovery))).toEqual([]);
  expect(declared.size).toBe(5);
});

for (const one of CASES) {
  const { promises, close } = promisesOf(one, dialects);
  afterAll(close);
  for (const [of, kept] of Map.groupBy(promises, (promised) => promised.of))
    describe(of, () => {
      for (const { name, keep } of kept) test(name, async () => await keep());
    });
}
