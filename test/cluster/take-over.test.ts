// Take-overs are judged by times of the database: late is late, unless nobody could have been in time.
import { expect, test } from "bun:test";
import { judgeTakeOvers, type Life, type Span } from "./take-over.ts";
import type { Death } from "./watch.ts";

const LEASE_MS = 2000;
const EVER = Number.POSITIVE_INFINITY;
/** Last renewed at 10,000: the lease ran until 12,000, and two leases are over at 14,000. */
const DEATH: Death = { epoch: 1, pid: 11, endedMs: 12_300, isFenced: true, diedMs: 10_000 };
const GUARDIAN: Life = { pid: 12, fromMs: 0, toMs: EVER };

const judged = (
  lastMs: number,
  { lives = [GUARDIAN], away = [], deaths = [DEATH] }: Partial<{ lives: Life[]; away: Span[]; deaths: Death[] }> = {},
) => {
  const verdict = judgeTakeOvers({ deaths, taken: [{ epoch: 1, count: 3, lastMs }], lives, away }, LEASE_MS);
  return { ...verdict, faults: verdict.faults.length, excused: verdict.excused.length };
};

test("within two leases of the last renewal is in time, and the longest is told", () => {
  expect(judged(12_900)).toEqual({ faults: 0, excused: 0, owners: 1, generations: 3, longestMs: 2900 });
  expect(judged(14_000)).toMatchObject({ faults: 0, excused: 0, longestMs: 4000 });
});

test.each<[string, Parameters<typeof judged>[1], boolean]>([
  ["another node was up all along", {}, true],
  ["another came up before the lease was over, and stayed", { lives: [{ pid: 12, fromMs: 11_900, toMs: EVER }] }, true],
  ["another came up after the lease was over", { lives: [{ pid: 12, fromMs: 12_100, toMs: EVER }] }, false],
  ["the only other one was harmed before the time was up", { lives: [{ pid: 12, fromMs: 0, toMs: 13_900 }] }, false],
  [
    "the only other one had been ended itself",
    { deaths: [DEATH, { epoch: 2, pid: 12, endedMs: 13_000, isFenced: true, diedMs: 10_500 }] },
    false,
  ],
  ["nobody but the dead one was there", { lives: [{ pid: 11, fromMs: 0, toMs: EVER }] }, false],
  ["the database was away meanwhile", { away: [{ fromMs: 13_000, toMs: 13_200 }] }, false],
  ["the database had been away before", { away: [{ fromMs: 8000, toMs: 9000 }] }, true],
])("later than that is a fault or excused: %s", (_why, scene, isFault) => {
  expect(judged(14_001, scene)).toMatchObject({ faults: isFault ? 1 : 0, excused: isFault ? 0 : 1, longestMs: 0 });
});

test("who took leave of its own will can be taken over from at once, and two leases are counted from then", () => {
  const left: Death = { ...DEATH, isFenced: false, endedMs: 10_000 };
  expect(judged(13_900, { deaths: [left] })).toMatchObject({ faults: 0, excused: 0, longestMs: 3900 });
  expect(judged(14_100, { deaths: [left], lives: [{ pid: 12, fromMs: 10_100, toMs: EVER }] })).toMatchObject({ excused: 1 });
});

test("generations of an owner that never ended were nobody's to take", () => {
  expect(judged(12_900, { deaths: [] })).toMatchObject({ faults: 1 });
});
