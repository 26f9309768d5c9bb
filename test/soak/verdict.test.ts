// Tests the verdict of a soak: it detects leaks, open files and excess actors, and tolerates noise.
import { expect, test } from "bun:test";
import { chance } from "../../src/simulator/fault-script.ts";
import type { Sample } from "./sample.ts";
import { openRunTimes } from "./times.ts";
import { type Facts, fitLine, verdictOf } from "./verdict.ts";

const SEED = 11;
const FACTS: Facts = {
  invariants: { ok: true, reported: "13 of 13" },
  twice: [],
  lost: [],
  outlived: [],
  strange: [],
  faults: [],
  readyMs: 500,
  inFlightAtKill: 2000,
};

/** Forty minutes with a kill after ten, and noise on memory and counts; `more` overrides members of the samples. */
const series = (more: (atS: number) => Partial<Sample> = () => ({})): Sample[] => {
  const roll = chance(SEED);
  return Array.from({ length: 240 }, (_, n) => {
    const atS = (n + 1) * 10;
    const inFlight = 2000 + Math.round((roll() - 0.5) * 40);
    return {
      atS,
      life: atS <= 600 ? 1 : 2,
      submitted: n * 200,
      succeeded: n * 200,
      failed: 0,
      inFlightBefore: inFlight,
      inFlight,
      hosted: inFlight,
      awake: inFlight - 5,
      rssMb: 250 + (roll() - 0.5) * 20,
      heapMb: 50,
      files: 120 + Math.round(roll() * 20),
      walMb: 31.5,
      lagMs: 5,
      postMs: 20,
      readMs: 5,
      ...more(atS),
    };
  });
};
const unmet = (samples: readonly Sample[], facts: Partial<Facts> = {}) =>
  verdictOf(samples, { ...FACTS, ...facts })
    .filter(({ isMet, kind }) => !isMet && kind === "hard")
    .map(({ name }) => name.replace(/ \(.*/, ""));

test("noise passes, and every figure has its row", () => {
  expect(unmet(series())).toEqual([]);
  expect(verdictOf(series(), FACTS).filter(({ kind }) => kind === "timing")).toHaveLength(4);
});

test("detects a leak of 3 MB in ten minutes under noise of 4 MB, and one of 30 MB under 20 MB", () => {
  const leak = (mb: number, trembleMb: number) => {
    const roll = chance(SEED);
    return unmet(series((atS) => ({ rssMb: 250 + (atS / 600) * mb + (roll() - 0.5) * trembleMb })));
  };
  expect(leak(3, 4)).toEqual(["resident memory, growth per 10 min"]);
  expect(leak(30, 20)).toEqual(["resident memory, growth per 10 min", "resident memory at the end against its beginning"]);
});

test("fails if the noise is large enough to hide a leak", () => {
  const roll = chance(SEED);
  expect(unmet(series(() => ({ rssMb: 250 + (roll() - 0.5) * 100 })))).toContain("resident memory, growth per 10 min");
});

test("detects a growing heap independently of the noise of resident memory", () => {
  expect(unmet(series((atS) => ({ heapMb: 40 + (atS / 600) * 2 })))).toEqual(["heap, growth per 10 min"]);
  expect(unmet(series((atS) => ({ heapMb: 40 + (atS / 600) * 0.5 })))).toEqual([]);
});

test("fails if a generation ends more than a minute after its job", () => {
  expect(unmet(series(), { outlived: ["gen_1 by 90 s"] })).toEqual(["no generation outlived its job by a minute"]);
});

test("allows growth in the first ten minutes after each start, while caches fill", () => {
  const warming = (atS: number) => 150 + Math.min(100, (atS > 600 ? atS - 600 : atS) / 5);
  expect(unmet(series((atS) => ({ rssMb: warming(atS) })))).toEqual([]);
});

test("detects open files, excess actors in memory and a write-ahead log that is never checkpointed", () => {
  const perLife = "open files and sockets";
  expect(unmet(series((atS) => ({ files: 120 + Math.round(atS / 10) })))).toEqual([perLife, perLife]);
  const [actors] = unmet(series(() => ({ awake: 2100 })));
  expect(actors).toStartWith("generations hosted and actors in memory");
  expect(unmet(series((atS) => ({ walMb: atS / 10 })))).toEqual(["write-ahead log"]);
});

test("judges no memory under a growing load, and fails the check that the load was steady", () => {
  const swelling = series((atS) => ({ inFlight: 2000 + atS, inFlightBefore: 2000 + atS, hosted: 2000 + atS }));
  expect(unmet(swelling)).toEqual(["the load was steady"]);
});

test("compares the actors of a slow service with the counts before and after the request", () => {
  expect(unmet(series(() => ({ inFlightBefore: 1950, inFlight: 2050, hosted: 1990, awake: 1900 })))).toEqual([]);
  expect(unmet(series(() => ({ inFlightBefore: 1950, inFlight: 2050, hosted: 1800, awake: 1700 })))).toHaveLength(1);
});

test("fails for a job submitted twice, a lost acknowledged id and a violated invariant", () => {
  const facts = { twice: ["a"], lost: ["gen_1"], invariants: { ok: false, reported: "11 of 12" } };
  expect(unmet(series(), facts)).toHaveLength(3);
});

test("fails if the soak ended before enough was measured", () => {
  const short = unmet([], { readyMs: null, inFlightAtKill: 0 });
  expect(short).toEqual(
    expect.arrayContaining([
      "enough was looked at",
      "ready after the kill with 0 in flight",
      "event loop lag, p99",
      "POST, p99",
      "GET, p99",
    ]),
  );
  expect(unmet(series().slice(0, 4))).toEqual(["enough was looked at"]);
  expect(unmet(series().slice(0, 30))).toEqual(["enough was looked at"]);
  expect(unmet(series(() => ({ postMs: 0 })))).toEqual(["POST, p99"]);
});

test("fits a line with its slope and standard error", () => {
  expect(fitLine([0, 1, 2, 3].map((x) => [x, 2 * x + 1] as const))).toEqual({ slope: 2, error: 0 });
  expect(
    fitLine([
      [0, 0],
      [1, 3],
      [2, 1],
      [3, 4],
    ]).error,
  ).toBeGreaterThan(0.3);
});

test("draws run times with the given mean, a median of 20 s and a long tail, and matching remaining times", () => {
  const times = openRunTimes(100, SEED);
  expect(times.medianS).toBe(20);
  expect(Math.abs(times.meanS - 100)).toBeLessThan(1);
  const draws = 50_000;
  const fresh = Array.from({ length: draws }, times.fresh);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  expect(Math.abs(mean(fresh) - 100)).toBeLessThan(8);
  expect(fresh.toSorted((a, b) => a - b)[draws >> 1]).toBeWithin(18, 22);
  expect(Math.max(...fresh)).toBeGreaterThan(1_500);
  // Renewal theory: half the mean of the squares over the mean.
  const left = mean(fresh.map((time) => time * time)) / mean(fresh) / 2;
  const caught = mean(Array.from({ length: draws }, times.caught));
  expect(Math.abs(caught - left) / left).toBeLessThan(0.1);
});
