// Tests of the callback inbox: a node processes and deletes the hints of other nodes, and a failing hint does not block the next.
import { expect, test } from "bun:test";
import { createTakeover } from "../../src/cluster/takeover.ts";
import type { Hint } from "../../src/store/cluster-port.ts";

type Parts = Parameters<typeof createTakeover>[0];

test("processes the hints after one that throws, one that is unreadable and one that cannot be deleted, then rejects with the first fault", async () => {
  const left: Hint[] = [
    { seq: 1, n: 1, body: null },
    { seq: 2, n: 1, body: "{" },
    { seq: 3, n: 1, body: null },
    { seq: 4, n: 1, body: null },
    { seq: 5, n: 1, body: '{"status":"COMPLETED"}' },
  ];
  const heard: unknown[] = [];
  const dropped: number[] = [];
  const effects: Partial<Parts["effects"]> = {
    isAsking: (seq) => seq !== 4,
    hint: (seq, _n, body) => {
      if (seq === 1) throw new Error("no such route");
      heard.push([seq, body]);
    },
  };
  const node = {
    hints: () => Promise.resolve(left),
    dropHint: async ({ seq }: Hint) => {
      if (seq === 3) throw new Error("the database is unavailable");
      dropped.push(seq);
    },
  };
  const sharing = createTakeover({ store: { node }, effects } as unknown as Parts);
  await expect(sharing.takeHints()).rejects.toThrow("no such route");
  expect(heard).toEqual([
    [3, undefined],
    [5, { status: "COMPLETED" }],
  ]);
  expect(dropped).toEqual([1, 2, 5]);
});

const DECISION = { type: "failedByOperator", by: "Ada", reason: "seen at the provider", decidedAtMs: 7 };

/** Operator decisions in the inbox. The statechart processes reported events when `dealWith` is called. */
const openScene = (seqs: readonly number[], carriedOut: readonly number[] = []) => {
  const left: Hint[] = seqs.map((seq) => ({ seq, n: -DECISION.decidedAtMs, body: JSON.stringify(DECISION) }));
  const reported: unknown[] = [];
  const dropped: number[] = [];
  const inJournal = new Set(carriedOut);
  const gone = new Set<number>();
  const takenUp = new Set<number>();
  let dealWith = () => {};
  const dealt = new Promise<void>((resolve) => {
    dealWith = resolve;
  });
  const supervisor: Partial<Parts["supervisor"]> = {
    has: (seq) => !gone.has(seq) && (seq === 1 || takenUp.has(seq)),
    report: (seq, event) => void reported.push([seq, event]),
    idle: () => (reported.length === 0 ? Promise.resolve() : dealt),
    recover: async (_unfinished, waiting) => {
      for (const [seq, events] of waiting ?? []) {
        for (const event of events) reported.push([seq, event]);
        inJournal.add(seq);
      }
      return 0;
    },
    resume: () => undefined,
  };
  const node = {
    hints: () => Promise.resolve(left),
    events: async (wanted: readonly number[] = seqs) => left.filter(({ seq }) => wanted.includes(seq)),
    dropHint: async ({ seq }: Hint) => void dropped.push(seq),
  };
  const store = {
    ...{ node, unfinished: async () => [], attemptsOf: async () => [], generationBySeq: async () => undefined },
    eventsOf: async (seq: number) => (inJournal.has(seq) ? [{ event: DECISION }] : []),
  };
  const effects = { takenUp: (seq: number) => takenUp.add(seq) };
  const sharing = createTakeover({ store, supervisor, effects, clock: { nowMs: () => 1 } } as unknown as Parts);
  return { sharing, reported, dropped, gone, takenUp, dealWith };
};
const heard = (seq: number) => [seq, { ...DECISION, atMs: 1 }];

test("reports a decision from another node to the statechart, also for a generation that had stopped", async () => {
  const { sharing, reported, dropped, takenUp, dealWith } = openScene([1, 2]);
  dealWith();
  await sharing.takeHints();
  expect([...takenUp]).toEqual([2]);
  expect(reported.toSorted()).toEqual([1, 2].map(heard));
  // One that is restored together with its decision leaves the entry to the next read.
  expect(dropped).toEqual([1]);
  await sharing.takeHints();
  expect([reported.length, dropped.toSorted()]).toEqual([3, [1, 1, 2]]);
});

test("reports a decision once and keeps it in the inbox until its effect is committed", async () => {
  const { sharing, reported, dropped, dealWith } = openScene([1]);
  const looks = [sharing.takeHints(), sharing.takeHints()];
  await new Promise((turn) => setImmediate(turn));
  expect([reported, dropped]).toEqual([[heard(1)], []]);
  dealWith();
  await Promise.all(looks);
  expect([reported, dropped]).toEqual([[heard(1)], [1]]);
});

test("deletes a decision that is already in the event log, and keeps one for a generation that stopped again", async () => {
  const again = openScene([1], [1]);
  await again.sharing.takeHints();
  expect([again.reported, again.dropped]).toEqual([[], [1]]);
  const stopped = openScene([1]);
  stopped.gone.add(1);
  stopped.dealWith();
  await stopped.sharing.takeHints();
  expect([stopped.reported, stopped.dropped]).toEqual([[heard(1)], []]);
});

const JOB = { jobId: "job-1" };
const OUTCOME = { type: "accepted", n: 1, job: JOB, atMs: 5 } as const;

/** A provider response from another node, for a generation that has ended or still runs. */
const openPassedOn = async (completedAtMs: number | null, late: Parts["late"]) => {
  const left: Hint[] = [];
  const reported: unknown[] = [];
  const node = {
    leaveHint: async (hint: Hint) => void left.push(hint),
    hints: async () => left,
    dropHint: async () => void left.pop(),
  };
  const supervisor = {
    has: () => completedAtMs === null,
    report: (_: number, event: unknown) => reported.push(event),
    idle: async () => undefined,
  };
  const attempt = { job: null as { jobId: string } | null, results: null, route: { provider: "fal" } };
  const store = {
    ...{ node, generationBySeq: async () => ({ completedAtMs }), attempt: async () => attempt },
    jobOwner: async () => (attempt.job ? { seq: 1, n: 1 } : undefined),
  };
  const sharing = createTakeover({ store, supervisor, late, clock: { nowMs: () => 9 } } as unknown as Parts);
  await sharing.passOn(1, OUTCOME);
  return { sharing, reported, left, attempt };
};

test("reports a response from another node to the statechart and keeps it until the attempt's row contains it", async () => {
  const { sharing, reported, left, attempt } = await openPassedOn(null, async () => false);
  await sharing.takeHints();
  // For an attempt that was given up and is no longer polled, the response is used only after the end of the generation.
  expect([reported, left.length]).toEqual([[{ ...OUTCOME, atMs: 9 }], 1]);
  attempt.job = JOB;
  await sharing.takeHints();
  expect(left).toEqual([]);
});

test("keeps a response for an ended generation until its attempt's row contains it", async () => {
  const noted: unknown[] = [];
  let isNoted = false;
  const { sharing, reported, left } = await openPassedOn(3, async (seq, event) => {
    noted.push([seq, event]);
    return isNoted;
  });
  await sharing.takeHints();
  expect([reported, left.length]).toEqual([[], 1]);
  isNoted = true;
  await sharing.takeHints();
  expect(noted).toEqual([1, 1].map((seq) => [seq, { ...OUTCOME, atMs: 9 }]));
  expect([reported, left.length]).toEqual([[], 0]);
});

test("deletes a response that the attempt of an ended generation already contains, without recording it again", async () => {
  const { sharing, left, attempt } = await openPassedOn(3, () => Promise.reject(new Error("the response was recorded again")));
  attempt.job = JOB;
  await sharing.takeHints();
  expect(left).toEqual([]);
});

test("deletes a rejection from another node without reporting it, because it could precede a later sending", async () => {
  const { sharing, reported, left } = await openPassedOn(null, async () => false);
  const error = { type: "rejected", n: 1, failure: { class: "refused_input", detail: "422" }, atMs: 5 };
  left.splice(0, 1, { seq: 1, n: -1, body: JSON.stringify(error) });
  await sharing.takeHints();
  expect([reported, left]).toEqual([[], []]);
});
