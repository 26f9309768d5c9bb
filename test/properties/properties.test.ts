// Runs the properties with small counts and a fixed seed; `npm run properties` runs the full counts.
import { expect, test } from "bun:test";
import { PROPERTIES } from "./all.ts";

/** For another seed or more runs: SEED=7 RUNS=500. */
const SEED = Number(process.env.SEED ?? 20_261_121);
const RUNS = Number(process.env.RUNS ?? 100);

for (const { name, says, check } of PROPERTIES)
  test(`${name}: ${says}`, async () => {
    const { fault, runs } = await check({ runs: RUNS, seed: SEED, keeps: true });
    expect(fault).toBe(null);
    expect(runs).toBeGreaterThan(0);
  }, 60_000);
