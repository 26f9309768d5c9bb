// The schedule of polls: how late the end of a job is noticed, and with how many polls.
import { expect, test } from "bun:test";
import { createQuickPolls, type PollBounds, pollPauseMs, type UsualEnd } from "../../src/effects/poll-schedule.ts";
import { chance } from "../../src/simulator/fault-script.ts";

const QUICK: PollBounds = { leastMs: 500, longestMs: 5_000 };
const SLOW: PollBounds = { leastMs: 2_500, longestMs: 10_000 };
const PICTURES: UsualEnd = { fromMs: 2_200, toMs: 5_800 };
const CLIPS: UsualEnd = { fromMs: 63_000, toMs: 117_000 };
const SEED = 11;
const JOBS = 2_000;

/** Polls a job from its sending until it has ended. @returns the ages of the polls, ms */
const agesOf = (endsMs: number, usual: UsualEnd, bounds: PollBounds): number[] => {
  const ages: number[] = [];
  for (let ageMs = 0; ageMs < endsMs; ) {
    ageMs += pollPauseMs(ageMs, usual, bounds);
    ages.push(ageMs);
  }
  return ages;
};

/** Jobs that end evenly between two ages. @returns the median of the lag, ms, and the mean number of polls */
const play = ([fromMs, toMs]: readonly [number, number], usual: UsualEnd, bounds: PollBounds) => {
  const roll = chance(SEED);
  const runs = Array.from({ length: JOBS }, () => {
    const endsMs = fromMs + roll() * (toMs - fromMs);
    const ages = agesOf(endsMs, usual, bounds);
    return { lagMs: (ages.at(-1) ?? 0) - endsMs, polls: ages.length };
  });
  const lags = runs.map(({ lagMs }) => lagMs).toSorted((a, b) => a - b);
  return { medianMs: lags[JOBS / 2] ?? 0, polls: runs.reduce((sum, { polls }) => sum + polls, 0) / JOBS };
};

test("notices the end of half of all pictures of 2 to 6 s within 300 ms, with six polls on average at most", () => {
  const { medianMs, polls } = play([2_000, 6_000], PICTURES, QUICK);
  expect(medianMs).toBeLessThanOrEqual(300);
  expect(polls).toBeLessThanOrEqual(6);
});

test("notices the end of half of all clips of 60 to 120 s within 2 s, with 22 polls on average at most", () => {
  const { medianMs, polls } = play([60_000, 120_000], CLIPS, SLOW);
  expect(medianMs).toBeLessThanOrEqual(2_000);
  expect(polls).toBeLessThanOrEqual(22);
});

test("polls seldom before the usual end, and never less often than the longest interval", () => {
  const ages = agesOf(60_000, CLIPS, SLOW).filter((ageMs) => ageMs < CLIPS.fromMs * 0.8);
  expect(ages).toEqual([10_000, 20_000, 30_000, 40_000, 50_000]);
});

test("polls ever less often after the usual end, up to the longest interval", () => {
  const late = agesOf(60_000, PICTURES, QUICK).filter((ageMs) => ageMs > PICTURES.toMs);
  const pauses = late.slice(1).map((ageMs, at) => ageMs - (late[at] ?? 0));
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  expect(pauses.at(-1)).toBe(5_000);
});

test("polls a route again earlier that has become faster, however often it becomes faster", () => {
  let usual = CLIPS;
  for (let round = 0; round < 40; round += 1) {
    const noticedMs = agesOf(1_000, usual, SLOW).at(-1) ?? 0;
    usual = { fromMs: noticedMs, toMs: noticedMs };
  }
  expect(usual.toMs).toBeLessThanOrEqual(SLOW.leastMs);
});

test("never polls more often than the shortest interval, even if that is longer than the longest", () => {
  expect(pollPauseMs(3_000, PICTURES, { leastMs: 10_000, longestMs: 5_000 })).toBe(10_000);
});

test("spreads the quick polls of all jobs of a provider: 40 a second, which nodes share, and none later than without knowledge", () => {
  const pausesOf = (jobs: number, nodes: number) => {
    const quick = createQuickPolls({ nowMs: () => 1_000_000 }, 1);
    return Array.from({ length: jobs }, () => quick.pauseMs("fal", 500, 5_000, nodes));
  };
  const perWindow = (pauses: readonly number[]) => Map.groupBy(pauses, (pauseMs) => Math.floor(pauseMs / 250));
  expect([...perWindow(pausesOf(40, 1)).values()].map(({ length }) => length)).toEqual([10, 10, 10, 10]);
  expect([...perWindow(pausesOf(8, 4)).values()].map(({ length }) => length)).toEqual([2, 2, 2, 2]);
  const many = pausesOf(1_000, 1);
  expect([Math.min(...many), Math.max(...many)]).toEqual([500, 5_000]);
});
