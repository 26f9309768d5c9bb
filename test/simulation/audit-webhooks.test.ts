// Tests the simulation's audit of webhooks: it reports missing, early, repeated and misdirected events.
import { expect, test } from "bun:test";
import type { Mutation, MutationResult } from "../../src/domain/mutations.ts";
import type { DeliveryRow } from "../../src/store/webhook-reads.ts";
import { auditWebhooks } from "../../src/torture/simulation/audit-webhooks.ts";
import { createCoverageCounters } from "../../src/torture/simulation/coverage-counters.ts";
import { createEventOracle } from "../../src/torture/simulation/event-oracle.ts";
import type { NodeLife } from "../../src/torture/simulation/node-life.ts";
import type { ReceivedEvent } from "../../src/torture/simulation/webhook-receivers.ts";

const URL = "https://hooks.example.com/0/1";
const OWN = "https://hooks.example.com/own/0/w1";
const END = "generation.succeeded";

/** A world in which a generation ran at 1 s and ended at 2 s, for an endpoint and an address of its own. */
const openScene = () => {
  let nowMs = 0;
  const oracle = createEventOracle(() => nowMs);
  const commit = (mutation: object, outcome: object) => oracle.committed(mutation as Mutation, outcome as MutationResult);
  const endpoint = { mutation: "create-webhook-endpoint", id: "whe_1", accountSeq: 1, url: URL, events: "*", enabled: true };
  commit(endpoint, { kind: "done", seq: 7 });
  const other = { ...endpoint, id: "whe_2", accountSeq: 2, url: "https://hooks.example.com/1/1" };
  commit(other, { kind: "done", seq: 8 });
  commit({ mutation: "admit", seq: 5, id: "gen_a", accountSeq: 1, webhookUrl: OWN }, { kind: "admitted" });
  for (const [status, atMs] of [
    ["running", 1_000],
    ["running", 1_500],
    ["succeeded", 2_000],
  ] as const) {
    nowMs = atMs;
    const completedAtMs = status === "running" ? null : atMs;
    commit({ mutation: "step", seq: 5 }, { kind: "stepped", record: { status, completedAtMs } });
  }
  return { oracle, commit, at: (ms: number) => (nowMs = ms) };
};
const by = { name: "n1.1", frozenUntilMs: () => 0 } as NodeLife;
const got = (url: string, type: string, more: Partial<ReceivedEvent> = {}): ReceivedEvent => ({
  ...{ url, type, by, generationId: "gen_a", status: type.slice("generation.".length), answer: 200, wasRead: true },
  ...(type === END ? { sentAtMs: 2_001, atMs: 2_010, sequence: 4 } : { sentAtMs: 1_001, atMs: 1_010, sequence: 1 }),
  ...{ id: `evt_a_${type === END ? 4 : 1}`, timestampMs: 2_000, happened: type, ...more },
});
const ALL = [got(URL, END), got(OWN, END), got(URL, "generation.running"), got(OWN, "generation.running")];

const audit = (log: ReceivedEvent[], rows: Partial<DeliveryRow>[] = [], { oracle } = openScene()) =>
  auditWebhooks({
    webhooks: { receivers: { log }, oracle },
    reads: { webhookDeliveries: async () => rows as DeliveryRow[], webhookEndpoint: async () => undefined },
    accountSeqs: [1],
    isClockRight: true,
    situations: createCoverageCounters(),
  });
const row = (more: Partial<DeliveryRow>): Partial<DeliveryRow> => ({
  ...{ url: URL, type: END, generationId: "gen_a", endpointId: "whe_1", tries: [] },
  ...more,
});

test("the oracle expects each change of the status once, at the endpoints of the account and the address of the submission", () => {
  const due = openScene()
    .oracle.events()
    .map(({ url, type, committedAtMs }) => [url, type, committedAtMs]);
  expect(due).toEqual([
    [URL, "generation.running", 1_000],
    [OWN, "generation.running", 1_000],
    [URL, END, 2_000],
    [OWN, END, 2_000],
  ]);
});

test("accepts a world in which every event arrived, and one without `running` before the end", async () => {
  expect(await audit(ALL)).toEqual([]);
  expect(await audit(ALL.slice(0, 2))).toEqual([]);
});

test.each<[said: string, log: ReceivedEvent[], found: RegExp]>([
  ["an event that never arrived", ALL.slice(1), /never delivered/],
  ["an event that only failed", [got(URL, END, { answer: 500 }), ...ALL.slice(1)], /never delivered, after 1 tries/],
  [
    "another id at a second try",
    [...ALL, got(URL, END, { id: "evt_b", wasRead: false, answer: 500, sentAtMs: 2_000 })],
    /arrived as/,
  ],
  ["a number below that of `running`", [got(URL, END, { sequence: 1 }), ...ALL.slice(1)], /numbered before/],
  ["a `running` after the end", [...ALL, got(URL, "generation.running", { sentAtMs: 9_000, wasRead: false })], /after its end/],
  ["a second delivery by the same process", [...ALL, got(URL, END, { sentAtMs: 8_000 })], /sent again/],
  ["a wrong time of a try", [got(URL, END, { timestampMs: 900_000 }), ...ALL.slice(1)], /ms off/],
])("reports %s", async (_, log, found) => {
  expect((await audit(log)).join("\n")).toMatch(found);
});

test("reports a row that is marked, pending or repeated against the requests and the schedule", async () => {
  const tried = (atMs: number, status: number | null) => ({ atMs, status, answer: null, error: null, durationMs: 1 });
  expect(await audit(ALL, [row({ state: "delivered" })])).toEqual([]);
  expect((await audit([], [row({ state: "delivered" })])).join("\n")).toContain("marked as delivered");
  expect((await audit(ALL, [row({ state: "pending" })])).join("\n")).toContain("pending at the end");
  expect((await audit(ALL, [row({ state: "failed" })])).join("\n")).toContain("failed after 1 tries");
  const early = [row({ state: "delivered", tries: [tried(1_000, 500), tried(5_999, 200)] })];
  expect((await audit(ALL, early)).join("\n")).toContain("tried again after 4999 ms");
  expect(await audit(ALL, [row({ state: "delivered", tries: [tried(1_000, 500), tried(6_000, 200)] })])).toEqual([]);
});

test("requires that a 410 disables, excuses what a disabled endpoint did not receive, and reports a later request to it", async () => {
  const gone = [row({ state: "failed", tries: [{ atMs: 1, status: 410, answer: null, error: null, durationMs: 1 }] })];
  const log = [got(URL, END, { answer: 410 }), ...ALL.slice(1)];
  expect(await audit(log, gone)).toEqual([expect.stringContaining("the endpoint is enabled")]);
  const scene = openScene();
  scene.at(2_020);
  const condition = { endpointSeq: 7, failingSinceMs: 1, lastFailureAtMs: 1, disabledReason: "The endpoint returned 410 Gone." };
  scene.commit({ mutation: "record-webhook-tries", results: [], endpoints: [condition] }, { kind: "done" });
  expect(await audit(log, gone, scene)).toEqual([]);
  expect(await audit(ALL.slice(1), [], scene)).toEqual([expect.stringContaining("disabled without a 410")]);
  const late = got(URL, END, { sentAtMs: 40_000, answer: 410, wasRead: false });
  expect((await audit([...log, late], gone, scene)).join("\n")).toContain("after its endpoint was disabled");
});
