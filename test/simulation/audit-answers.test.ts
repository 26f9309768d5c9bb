// Tests the simulation's audit of uncommitted responses: it reports a dropped one and excuses one that a crash lost.
import { expect, test } from "bun:test";
import type { Attempt } from "../../src/domain/types.ts";
import { auditAnswers } from "../../src/torture/simulation/audit-answers.ts";
import { createConfirmBound } from "../../src/torture/simulation/confirm-bound.ts";
import { createCoverageCounters, SITUATIONS, unseen } from "../../src/torture/simulation/coverage-counters.ts";
import type { NodeLife } from "../../src/torture/simulation/node-life.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";
import type { Answer } from "../../src/torture/simulation/unsaved-outcomes.ts";

/** @param livedMs how long the process lived after the response */
const answer = (livedMs: number, more: Partial<Answer> = {}): Answer => ({
  ...{ provider: "p", ref: "00000000001-1", jobId: "j", atMs: 1_000, hasDisk: true, wasKept: false, wasRefused: false, ...more },
  life: { name: "n1.1", isAlive: () => false, endedAtMs: () => 1_000 + livedMs, frozenUntilMs: () => 0 } as NodeLife,
});
/** @param owner the attempt on whose row the job is; null: none */
const judge = (one: Answer, jobId: string | null, owner: { seq: number; n: number } | null = null) =>
  auditAnswers({
    answers: new Map([[one.ref, one]]),
    reads: {
      attempt: async () => ({ state: "lost", job: jobId === null ? null : { jobId } }) as Attempt,
      jobOwner: async () => owner ?? undefined,
    },
  });

test("accepts a response that its attempt's row contains, and reports one that is missing there", async () => {
  expect(await judge(answer(60_000), "j")).toEqual([]);
  expect(await judge(answer(60_000), null)).toEqual([expect.stringContaining("in hand")]);
  expect(await judge(answer(60_000), "another")).toEqual([expect.stringContaining("in hand")]);
});

test("excuses a response lost with its process or refused by its disk, but not one that was spooled", async () => {
  expect(await judge(answer(100), null)).toEqual([]);
  expect(await judge(answer(60_000, { wasRefused: true }), null)).toEqual([]);
  expect(await judge(answer(60_000, { hasDisk: false }), null)).toEqual([]);
  expect(await judge(answer(100, { wasKept: true }), null)).toEqual([expect.stringContaining("kept on its disk")]);
});

test("excuses a spooled response whose job a lookup has found for another attempt meanwhile", async () => {
  const spooled = answer(60_000, { wasKept: true });
  expect(await judge(spooled, null)).toEqual([expect.stringContaining("kept on its disk")]);
  expect(await judge(spooled, null, { seq: 2, n: 2 })).toEqual([]);
});

test("accepts confirmation requests to a silent provider for confirm_s, and reports a longer series", () => {
  const world = createTimeline();
  const found: string[] = [];
  const situations = createCoverageCounters();
  const life = { world, frozenUntilMs: () => 0 } as NodeLife;
  const questions = createConfirmBound({ life, situations, fault: (text) => void found.push(text) });
  let by = new AbortController().signal;
  const askFor = (ms: number, isUnclear: boolean) => {
    for (let atMs = 0; atMs < ms; atMs += 30_000) {
      world.after(30_000, () => questions.requested("a-1", isUnclear, by));
      while (world.step());
    }
  };
  askFor(180_000, true);
  askFor(60_000, false);
  askFor(180_000, true);
  expect([found, situations.figures().confirmBounded]).toEqual([[], 2]);
  // An operator restarts the confirmation.
  by = new AbortController().signal;
  askFor(180_000, true);
  expect(found).toEqual([]);
  askFor(120_000, true);
  expect(found[0]).toContain("answers nothing");
});

test("lists a situation that never occurred, with its description", () => {
  const all = Object.fromEntries(Object.keys(SITUATIONS).map((name) => [name, 1]));
  expect(unseen(all)).toEqual([]);
  expect(unseen({ ...all, parked: 0 })).toEqual([`parked: ${SITUATIONS.parked}`]);
});
