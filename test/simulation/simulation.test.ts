// The simulation itself is held to account: the same seed is the same world, its auditor is not easily pleased, its faults do happen.
import { expect, setDefaultTimeout, test } from "bun:test";
import { drawFaults, FAULT_NAMES } from "../../src/torture/simulation/faults.ts";
import { createRng } from "../../src/torture/simulation/rng.ts";
import { runSeed, runSeeds } from "../../src/torture/simulation/run.ts";
import { replayCommand } from "../../src/torture/simulation/shrink.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";

setDefaultTimeout(60_000);

/** Worlds in which everything that may go wrong does somewhere. */
const SEEDS = 12;

test("the same seed is the same world to the last line of its trace", async () => {
  for (const seed of [3, 493, 2 ** 40]) {
    const [first, second] = [await runSeed(seed, { keepsTrace: true }), await runSeed(seed, { keepsTrace: true })];
    expect(second.trace).toEqual(first.trace);
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(second.figures).toEqual(first.figures);
  }
});

test("two seeds are two worlds", async () => {
  expect((await runSeed(1)).fingerprint).not.toBe((await runSeed(2)).fingerprint);
});

test("worlds full of faults come right, and the faults did happen", async () => {
  const { failure, figures, struck } = await runSeeds(1, SEEDS);
  expect(failure?.faults ?? []).toEqual([]);
  const { crashes = 0, fallbacks = 0, jobs = 0, succeeded = 0 } = figures;
  expect(Math.min(crashes, fallbacks, jobs, succeeded)).toBeGreaterThan(0);
  expect(struck.size).toBeGreaterThan(5);
});

test("a world without a fault has no crash, and every generation that was accepted is delivered by its first route", async () => {
  const end = await runSeed(5, { without: FAULT_NAMES, nodes: 1 });
  expect(end.faults).toEqual([]);
  expect(end.figures).toMatchObject({ crashes: 0, fallbacks: 0, lives: 1 });
});

test("faults that are left out do not happen, and no other fault changes by it", () => {
  const all = drawFaults(createRng(7), new Set());
  const some = drawFaults(createRng(7), new Set(["crash", "lostAnswer"]));
  expect(some).toEqual({ ...all, crash: 0, lostAnswer: 0 });
});

test("a replay command names everything that the world was made with", () => {
  expect(replayCommand(7, { wishes: 2, without: ["crash", "drain"] })).toBe(
    "npm run simulate -- --seed 7 --trace --wishes 2 --without crash,drain",
  );
});

test("things happen in order of time, and of arrival where the time is the same; what is taken back does not", () => {
  const timeline = createTimeline();
  const seen: string[] = [];
  const beganMs = timeline.nowMs();
  timeline.after(20, () => seen.push("later"));
  timeline.after(10, () => seen.push("first"));
  const takeBack = timeline.after(10, () => seen.push("never"));
  timeline.after(10, () => seen.push("second"));
  takeBack();
  while (timeline.step());
  expect(seen).toEqual(["first", "second", "later"]);
  expect(timeline.nowMs() - beganMs).toBe(20);
});
