// Tests the simulation: the same seed gives the same world, worlds pass the audit, and faults occur.
import { expect, setDefaultTimeout, test } from "bun:test";
import { drawFaults, FAULT_NAMES } from "../../src/torture/simulation/faults.ts";
import { createRng } from "../../src/torture/simulation/rng.ts";
import { runSeed, runSeeds } from "../../src/torture/simulation/run.ts";
import { replayCommand } from "../../src/torture/simulation/shrink.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";

setDefaultTimeout(60_000);

/** Number of worlds: enough that most kinds of faults occur. */
const SEEDS = 12;

test("the same seed gives the same world to the last line of its trace", async () => {
  for (const seed of [3, 493, 2 ** 40]) {
    const [first, second] = [await runSeed(seed, { keepsTrace: true }), await runSeed(seed, { keepsTrace: true })];
    expect(second.trace).toEqual(first.trace);
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(second.figures).toEqual(first.figures);
  }
});

test("two seeds give different worlds", async () => {
  expect((await runSeed(1)).fingerprint).not.toBe((await runSeed(2)).fingerprint);
});

test("worlds with all faults pass the audit, and the faults occur", async () => {
  const { failure, figures, struck } = await runSeeds(1, SEEDS);
  expect(failure?.faults ?? []).toEqual([]);
  const { crashes = 0, fallbacks = 0, jobs = 0, succeeded = 0 } = figures;
  expect(Math.min(crashes, fallbacks, jobs, succeeded)).toBeGreaterThan(0);
  expect(struck.size).toBeGreaterThan(5);
});

test("a world without faults has no crash and no fallback", async () => {
  const end = await runSeed(5, { without: FAULT_NAMES, nodes: 1 });
  expect(end.faults).toEqual([]);
  expect(end.figures).toMatchObject({ crashes: 0, fallbacks: 0, lives: 1 });
});

test("excluding faults does not change the other faults", () => {
  const all = drawFaults(createRng(7), new Set());
  const some = drawFaults(createRng(7), new Set(["crash", "lostAnswer"]));
  expect(some).toEqual({ ...all, crash: 0, lostAnswer: 0 });
});

test("the replay command contains every option of the world", () => {
  expect(replayCommand(7, { wishes: 2, without: ["crash", "drain"] })).toBe(
    "npm run simulate -- --seed 7 --trace --wishes 2 --without crash,drain",
  );
});

test("the timeline runs events in order of time, then of insertion, and skips cancelled ones", () => {
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
