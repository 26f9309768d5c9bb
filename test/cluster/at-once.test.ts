// Tests of judgeAtOnce: it finds dropped responses and repeated purchases, and excuses those that a fault explains.
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Submission } from "../../src/simulator/log.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";
import { judgeAtOnce } from "./at-once.ts";
import { idleUntilMs } from "./machine-load.ts";

const AT_MS = Date.parse("2026-11-28T12:00:00.000Z");
const PID = 7;
const PROMPT = "crash 0 k-1-1-1 as first sent";

const sentTo = (provider: string) => ({ url: `http://127.0.0.1/${provider}/images`, body: { prompt: PROMPT, provider } });
const submission = (provider: string, jobId: string, atMs: number, answer: Submission["answer"] = 200): Submission => ({
  ...{ type: "submission", at: new Date(atMs).toISOString(), provider, endpoint: "images", job_id: jobId, ref: null },
  body_sha256: createHash("sha256")
    .update(JSON.stringify(sentTo(provider).body))
    .digest("hex"),
  ...{
    accepted: true,
    key_hash: null,
    input: { prompt: PROMPT },
    faults: {},
    answer,
    plan: { queued_ms: 0, total_ms: 100, seed: 1 },
  },
});
const attempt = (n: number, provider: string, jobId: string | null) => ({
  ...{ n, state: jobId === null ? "lost" : "delivered", request: JSON.stringify(sentTo(provider)), route: { provider } },
  job: jobId === null ? null : { jobId },
});
const stored = (...tries: ReturnType<typeof attempt>[]) =>
  [{ id: "gen_1", account: 0, key: "k-1-1-1", tries }] as unknown as Stored[];
const faultsOf = (
  submissions: readonly Submission[],
  one: Stored[],
  harmedAtMs = Number.POSITIVE_INFINITY,
  announcedMs: number | null = AT_MS + 100,
  idleFromMs = 0,
) =>
  judgeAtOnce({
    evidence: { submissions, stored: one },
    sent: [1, 2].map((n) => ({ id: "gen_1", n, endedMs: AT_MS + 60_000, pid: PID })),
    lives: [{ pid: PID, fromMs: AT_MS - 1000, toMs: harmedAtMs }],
    announcedAtMs: new Map(announcedMs === null ? [] : [["job-1", announcedMs]]),
    confirmMs: 1000,
    idleUntilMs: (fromMs, idleMs) => Math.max(fromMs, idleFromMs) + idleMs,
  }).checks.map(({ faults }) => faults.length);

const ANSWERED = submission("together", "job-1", AT_MS);

test("accepts a response that is stored on its attempt, and reports one that is stored nowhere", () => {
  expect(faultsOf([ANSWERED], stored(attempt(1, "together", "job-1")))).toEqual([0, 0]);
  expect(faultsOf([ANSWERED], stored(attempt(1, "together", null)))).toEqual([1, 0]);
});

test("excuses a lost response when its process was harmed during or just after it, and not when it was harmed later", () => {
  const lost = stored(attempt(1, "together", null));
  expect(faultsOf([ANSWERED], lost, AT_MS + 50)).toEqual([0, 0]);
  expect(faultsOf([ANSWERED], lost, AT_MS + 5000)).toEqual([1, 0]);
});

test("allows a process on a crowded machine the time in which no processor was idle", () => {
  const lost = stored(attempt(1, "together", null));
  expect(faultsOf([ANSWERED], lost, AT_MS + 1500, undefined, AT_MS)).toEqual([1, 0]);
  expect(faultsOf([ANSWERED], lost, AT_MS + 1500, undefined, AT_MS + 700)).toEqual([0, 0]);
  expect(faultsOf([ANSWERED], lost, AT_MS + 5000, undefined, Infinity)).toEqual([0, 0]);
  expect(faultsOf([ANSWERED], lost, AT_MS + 5200, undefined, Infinity)).toEqual([1, 0]);
});

test("computes the moment at which a processor has been idle for a time", () => {
  const samples = [
    { atMs: 0, idleMs: 0 },
    { atMs: 100, idleMs: 150 },
    { atMs: 200, idleMs: 150 },
    { atMs: 300, idleMs: 200 },
  ];
  expect(idleUntilMs(samples, 0, 100)).toBe(100);
  expect(idleUntilMs(samples, 50, 50)).toBe(100);
  expect(idleUntilMs(samples, 50, 75)).toBe(250);
  expect(idleUntilMs(samples, 150, 50)).toBe(300);
  expect(idleUntilMs(samples, 150, 51)).toBe(Infinity);
});

test("ignores a response that never left the provider", () => {
  const lost = stored(attempt(1, "together", null));
  expect(faultsOf([ANSWERED], lost, undefined, null)).toEqual([0, 0]);
  expect(faultsOf([ANSWERED], lost, AT_MS + 3000, AT_MS + 2500)).toEqual([0, 0]);
  expect(faultsOf([submission("together", "job-1", AT_MS, "drop")], stored(attempt(1, "together", null)))).toEqual([0, 0]);
});

test("reports a repeated purchase within the wait, unless the sending process was harmed", () => {
  const both = stored(attempt(1, "together", "job-1"), attempt(2, "fal", "job-2"));
  const again = (afterMs: number) => [ANSWERED, submission("fal", "job-2", AT_MS + afterMs)];
  expect(faultsOf(again(900), both)).toEqual([0, 1]);
  expect(faultsOf(again(1100), both)).toEqual([0, 0]);
  expect(faultsOf(again(900), both, AT_MS + 500)).toEqual([0, 0]);
});
