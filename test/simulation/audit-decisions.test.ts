// Tests the simulation's audit of operators' decisions: lost, repeated and wrongly charged decisions.
import { expect, test } from "bun:test";
import type { Decided } from "../../src/admin/generations.ts";
import type { Attempt, GenerationRecord } from "../../src/domain/types.ts";
import type { StoredEvent } from "../../src/store/store.ts";
import type { AuditRow } from "../../src/store/user-reads.ts";
import { auditDecisions, type DecisionEvidence } from "../../src/torture/simulation/audit-decisions.ts";
import { createCoverageCounters } from "../../src/torture/simulation/coverage-counters.ts";
import { OPERATOR, type Order } from "../../src/torture/simulation/operator.ts";
import type { UpstreamJob } from "../../src/torture/simulation/upstream.ts";

const ID = "gen_1";
const ENDED_MS = 3_600_000;
const TAKEN = { isTaken: true } as Decided;

/** A settlement that was carried out once and charged for the collected result; each test changes a part of it. */
const settled = () => ({
  order: {
    ...{
      id: ID,
      seq: 1,
      decision: "settle",
      reason: "order 1",
      requestedAtMs: 1_000,
      wasOver: false,
      answer: TAKEN,
      refused: null,
    },
  } as Order,
  steps: [
    { type: "settledByOperator", n: 1, by: OPERATOR.name, reason: "order 1" },
    { type: "collected", n: 1 },
  ] as (StoredEvent["event"] & { n?: number })[],
  lines: [{ target: ID, detail: { reason: "order 1" } }] as unknown as AuditRow[],
  end: { id: ID, status: "succeeded", costCredits: 20, completedAtMs: ENDED_MS } as GenerationRecord,
  states: ["delivered"] as Attempt["state"][],
  captures: 1,
  job: { fails: null, cancelled: false, wrong: null } as Partial<UpstreamJob>,
});
type Scene = ReturnType<typeof settled>;

const failed = (): Scene => ({
  ...settled(),
  order: { ...settled().order, decision: "fail" },
  steps: [{ type: "failedByOperator", by: OPERATOR.name, reason: "order 1" }],
  end: { ...settled().end, status: "failed", costCredits: 0 },
  states: ["lost"],
  captures: 0,
});

const judge = (scene: Scene): Promise<string[]> => {
  const attempts = scene.states.map((state, at) => ({ n: at + 1, state, route: { provider: "p" }, job: { jobId: "j" } }));
  const reads = {
    eventsOf: async () => scene.steps.map((event, at) => ({ version: at + 1, atMs: at, event, stateAfter: "" })),
    transfersOf: async () => Array.from({ length: scene.captures }, () => ({ kind: "capture" })),
    attemptsOf: async () => attempts,
    audit: async () => scene.lines,
  } as unknown as DecisionEvidence["reads"];
  const upstream = { jobs: [{ provider: "p", jobId: "j", ...scene.job } as UpstreamJob] };
  return auditDecisions(
    { orders: [scene.order], reads, upstream, situations: createCoverageCounters() },
    new Map([[ID, scene.end]]),
  );
};

test("accepts one settlement with one charge, and a failed generation without a charge", async () => {
  expect(await judge(settled())).toEqual([]);
  expect(await judge(failed())).toEqual([]);
  expect(await judge({ ...failed(), end: { ...failed().end, status: "succeeded" } })).not.toEqual([]);
});

const changed = (scene: Scene, change: (scene: Scene) => unknown): Scene => {
  change(scene);
  return scene;
};
test.each<[said: string, scene: Scene, found: RegExp]>([
  [
    "that was carried out twice",
    changed(settled(), ({ steps }) => steps.push({ ...steps[0], type: "settledByOperator" })),
    /2 times/,
  ],
  ["without a line in the audit log", { ...settled(), lines: [] }, /not in the audit log/],
  ["with two lines in the audit log", changed(settled(), ({ lines }) => lines.push(...lines)), /2 lines/],
  ["that was confirmed and is lost", changed(settled(), ({ steps }) => steps.shift()), /acknowledged, and not in the event log/],
  [
    "that was refused and is stored",
    { ...settled(), order: { ...settled().order, answer: null, refused: "no" } },
    /refused, and on disk/,
  ],
  ["about a generation that had ended", { ...settled(), order: { ...settled().order, wasOver: true } }, /after its end/],
  ["that was charged twice", { ...settled(), captures: 2 }, /charged 2 times/],
  ["that was charged for a failed job", { ...settled(), job: { fails: "job_failed" } }, /which delivered nothing/],
  ["that was charged for another attempt", { ...settled(), states: ["lost", "delivered"] }, /charged for attempt 2/],
  ["to fail that was charged", { ...failed(), captures: 1 }, /charged 1 times/],
  [
    "to fail after which the generation continued",
    changed(failed(), ({ steps }) => steps.push({ type: "announced", n: 1 })),
    /continued after/,
  ],
  [
    "that was stored and never carried out",
    { ...failed(), steps: [{ type: "waitEnded" }], order: { ...failed().order, answer: { isTaken: false } as Decided } },
    /continued for 60 min/,
  ],
])("reports a decision %s", async (_, scene, found) => {
  expect((await judge(scene)).join("\n")).toMatch(found);
});
