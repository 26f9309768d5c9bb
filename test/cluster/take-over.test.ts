// Tests of judgeTakeOvers: a late takeover is a fault unless no node could have been in time.
import { expect, test } from "bun:test";
import { judgeTakeOvers, type Life, type Span } from "./take-over.ts";
import type { Death } from "./watch.ts";

const LEASE_MS = 2000;
const EVER = Number.POSITIVE_INFINITY;
/** Last renewed at 10,000: the lease expired at 12,000, and two leases end at 14,000. */
const DEATH: Death = { epoch: 1, pid: 11, endedMs: 12_300, isFenced: true, diedMs: 10_000 };
const GUARDIAN: Life = { pid: 12, fromMs: 0, toMs: EVER };

const judged = (
  lastMs: number,
  { lives = [GUARDIAN], outages = [], deaths = [DEATH] }: Partial<{ lives: Life[]; outages: Span[]; deaths: Death[] }> = {},
) => {
  const verdict = judgeTakeOvers({ deaths, taken: [{ epoch: 1, count: 3, lastMs }], lives, outages }, LEASE_MS);
  return { ...verdict, faults: verdict.faults.length, excused: verdict.excused.length };
};

test("accepts a takeover within two leases of the last renewal, and reports the longest", () => {
  expect(judged(12_900)).toEqual({ faults: 0, excused: 0, owners: 1, generations: 3, longestMs: 2900 });
  expect(judged(14_000)).toMatchObject({ faults: 0, excused: 0, longestMs: 4000 });
});

test.each<[string, Parameters<typeof judged>[1], boolean]>([
  ["another node was up all the time", {}, true],
  ["another node came up before the lease expired, and stayed", { lives: [{ pid: 12, fromMs: 11_900, toMs: EVER }] }, true],
  ["another node came up after the lease expired", { lives: [{ pid: 12, fromMs: 12_100, toMs: EVER }] }, false],
  ["the only other node was harmed before the time was up", { lives: [{ pid: 12, fromMs: 0, toMs: 13_900 }] }, false],
  [
    "the only other node had been ended itself",
    { deaths: [DEATH, { epoch: 2, pid: 12, endedMs: 13_000, isFenced: true, diedMs: 10_500 }] },
    false,
  ],
  ["no other node was up", { lives: [{ pid: 11, fromMs: 0, toMs: EVER }] }, false],
  ["the database was unavailable meanwhile", { outages: [{ fromMs: 13_000, toMs: 13_200 }] }, false],
  ["the database had been unavailable before", { outages: [{ fromMs: 8000, toMs: 9000 }] }, true],
])("reports or excuses a later takeover when %s", (_why, scene, isFault) => {
  expect(judged(14_001, scene)).toMatchObject({ faults: isFault ? 1 : 0, excused: isFault ? 0 : 1, longestMs: 0 });
});

test("counts two leases from the moment at which a node closed, because its lease need not expire", () => {
  const left: Death = { ...DEATH, isFenced: false, endedMs: 10_000 };
  expect(judged(13_900, { deaths: [left] })).toMatchObject({ faults: 0, excused: 0, longestMs: 3900 });
  expect(judged(14_100, { deaths: [left], lives: [{ pid: 12, fromMs: 10_100, toMs: EVER }] })).toMatchObject({ excused: 1 });
});

test("reports a takeover of generations of a node that never ended", () => {
  expect(judged(12_900, { deaths: [] })).toMatchObject({ faults: 1 });
});
