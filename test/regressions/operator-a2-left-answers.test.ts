// operator.md A2: what lies on a node's disk when it starts counts, except a refusal that the provider may have outdone since.
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createActor } from "xstate";
import { generationMachine } from "../../actors/generation/machine.ts";
import { deadlineOf, leafOf } from "../../actors/generation/snapshot.ts";
import { interruptedBy } from "../../actors/supervisor/restore.ts";
import { createRecovery } from "../../src/app/recovery.ts";
import { generationId } from "../../src/domain/ids.ts";
import { createPendingOutcomes } from "../../src/effects/pending-outcomes.ts";
import { createOutcomeSpool, type Outcome } from "../../src/files/outcome-spool.ts";
import { runSeed } from "../../src/torture/simulation/run.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";
import { COLLECT_MS, eventFor, PLANS, STARTED_AT_MS, WAIT_MS } from "../machine/explore.ts";

afterAll(dropDirs);

const SEQ = 4096;
const REF = `${generationId(SEQ).slice("gen_".length)}-1`;
const REFUSED: Outcome = { type: "rejected", n: 1, failure: { class: "refused_input", detail: "422" }, atMs: 1 };
const ACCEPTED: Outcome = { type: "accepted", n: 1, job: { jobId: "job-1" }, atMs: 1 };

/** What a start finds of an answer of a provider that is asked by key, or in another way. */
const leftOf = async (provider: "by-key" | "by-list", outcome: Outcome) => {
  const dir = join(freshDir(), "outcomes");
  const spool = await createOutcomeSpool(dir, Date.now);
  await spool.keep({ ref: REF, provider, outcome });
  const asksByKey = (one: string) => one === "by-key";
  const inHand = createPendingOutcomes({
    spool,
    clock: testClock(),
    log: () => undefined,
    isAway: () => false,
    looksUpByKey: asksByKey,
  });
  const found = await inHand.open({ jobOwner: async () => undefined });
  return { inHand, dir, spool, found, byMachine: [false, true].map((mayBeAsked) => inHand.find(SEQ, 1, mayBeAsked)) };
};

test("A2: an answer that was left is found, whoever goes on with its generation", async () => {
  for (const [provider, outcome] of [
    ["by-key", ACCEPTED],
    ["by-list", ACCEPTED],
    ["by-list", REFUSED],
  ] as const) {
    const { found, byMachine } = await leftOf(provider, outcome);
    expect(found).toEqual([{ seq: SEQ, outcome }]);
    expect(byMachine).toEqual([outcome, outcome]);
  }
});

test("A2: a refusal proves nothing once its provider may have been asked by key, which is sending again", async () => {
  const { found, byMachine } = await leftOf("by-key", REFUSED);
  expect(found).toEqual([]);
  expect(byMachine).toEqual([REFUSED, undefined]);
});

test("A2: an answer that was left for the owner of its generation is on this disk no longer, and still known here", async () => {
  const { inHand, dir } = await leftOf("by-list", ACCEPTED);
  inHand.passedOn(SEQ, 1);
  await eventually(() => readdirSync(dir).length === 0, "an empty spool");
  expect(inHand.find(SEQ, 1, true)).toEqual(ACCEPTED);
});

// A refusal on the disk of a node that came back took a job, which the look-up by key had bought meanwhile, off the list of orphans.
test("A2: the world in which this was found comes right", async () => {
  expect((await runSeed(21061)).faults).toEqual([]);
}, 60_000);

/** A start that finds one answer of a generation which another node has, or nobody yet. @returns what the owner is told of it */
const passedOnAtStart = async (outcome: Outcome): Promise<Outcome[]> => {
  const told: Outcome[] = [];
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>();
  const dropped: number[] = [];
  const recover = createRecovery({
    store: { generationBySeq: async () => ({ completedAtMs: null }), watched: async () => [] },
    ...{ post: async () => ({ kind: "done" }), perform: () => undefined, clock: testClock(), log: () => undefined },
    supervisor: { recover: async () => 0, has: () => false, resume: () => undefined, report: () => undefined },
    inHand: { open: async () => [{ seq: SEQ, outcome }], passedOn: (seq: number) => void dropped.push(seq) },
    passOn: async (_: number, one: Outcome) => void told.push(one),
    share: async (results: { url: string }[]) => results.map(({ url }) => ({ url: url.replace("here", "shared") })),
    ...{ soon: setImmediate, opened, isOver: () => true },
  } as unknown as Parameters<typeof createRecovery>[0]);
  await Promise.all([recover(), isOpen]);
  await eventually(() => dropped.length === 1, "nothing is left on the disk");
  return told;
};

test("A2: what was accepted is told to the owner; a refusal is not, as it would stand for a sending that came after it", async () => {
  expect(await passedOnAtStart(ACCEPTED)).toEqual([ACCEPTED]);
  expect(await passedOnAtStart(REFUSED)).toEqual([]);
  // What came inside an answer lies where the owner finds it, not on the disk that it was left on.
  const announced = { type: "announced", n: 1, atMs: 1 } as const;
  expect(await passedOnAtStart({ ...announced, results: [{ url: "spool:here" }] })).toEqual([
    { ...announced, results: [{ url: "spool:shared" }] },
  ]);
});

/** Whether an answer is still on the disk after something has happened, and another answer was dropped behind it. */
const isKeptAfter = async (
  outcome: Outcome,
  happens: (inHand: ReturnType<typeof createPendingOutcomes>) => void,
): Promise<boolean> => {
  const { inHand, dir, spool } = await leftOf("by-list", outcome);
  const [seq, ref] = [2 * SEQ, `${generationId(2 * SEQ).slice("gen_".length)}-1`];
  await spool.keep({ ref, provider: "by-list", outcome: ACCEPTED });
  await inHand.open({ jobOwner: async () => undefined });
  happens(inHand);
  inHand.drop(seq, 1);
  const names = () => readdirSync(dir);
  await eventually(() => !names().includes(`${ref}.json`), "the end of the other's file");
  return names().includes(`${REF}.json`);
};
const GIVEN_UP = { type: "attemptTimeEnded", n: 1, atMs: 2 } as const;

// An answer waited behind the event that gave its attempt up, and its file was deleted with that event's step: the process ended before its own.
test("A2: an answer stays on the disk until it is dealt with itself, whatever else happens to its attempt and its generation", async () => {
  const dealt =
    (event: Parameters<ReturnType<typeof createPendingOutcomes>["dealtWith"]>[1]) =>
    (inHand: ReturnType<typeof createPendingOutcomes>) =>
      inHand.dealtWith(SEQ, event);
  expect(await isKeptAfter(ACCEPTED, dealt(GIVEN_UP))).toBe(true);
  expect(await isKeptAfter(ACCEPTED, dealt({ ...ACCEPTED, n: 2 }))).toBe(true);
  expect(await isKeptAfter(ACCEPTED, (inHand) => expect(inHand.ended(SEQ)).toContainEqual(ACCEPTED))).toBe(true);
  expect(await isKeptAfter(ACCEPTED, dealt(ACCEPTED))).toBe(false);
  expect(await isKeptAfter(REFUSED, dealt({ type: "provedAbsent", n: 1, atMs: 2 }))).toBe(false);
  expect(await isKeptAfter(REFUSED, (inHand) => expect(inHand.ended(SEQ)).toEqual([]))).toBe(false);
});

test("A2: a start tells the machine of the answer to an attempt that was given up, and not of a refusal", async () => {
  const reportedAtStart = async (outcome: Outcome): Promise<unknown[]> => {
    const reported: unknown[] = [];
    const recover = createRecovery({
      store: { generationBySeq: async () => ({ completedAtMs: null }), watchedAttempts: async () => [] },
      ...{ post: async () => ({ kind: "done" }), perform: () => undefined, clock: testClock(), log: () => undefined },
      supervisor: {
        recover: async () => 1,
        has: () => true,
        resume: () => undefined,
        report: (...told: unknown[]) => reported.push(told),
      },
      inHand: { open: async () => [{ seq: SEQ, outcome }], passedOn: () => undefined },
      ...{ passOn: async () => undefined, soon: setImmediate, opened: () => undefined, isOver: () => false },
    } as unknown as Parameters<typeof createRecovery>[0]);
    await recover();
    return reported;
  };
  expect(await reportedAtStart(ACCEPTED)).toEqual([[SEQ, { ...ACCEPTED, atMs: expect.any(Number) }]]);
  expect(await reportedAtStart(REFUSED)).toEqual([]);
});

// A database outage as long as limits.result_download_timeout_s: a paid result was given up 440 ms after the start that found it.
test("A2: the time to download a result that was left begins when the start restores its generation", () => {
  const nowMs = STARTED_AT_MS + COLLECT_MS + 1;
  const actor = createActor(generationMachine, {
    input: { plan: PLANS[0] ?? [], waitEndsAtMs: STARTED_AT_MS + WAIT_MS, collectMs: COLLECT_MS },
  }).start();
  for (const type of ["begun", "slotTaken"] as const) {
    const event = eventFor({ type, of: type === "begun" ? "none" : "current" }, actor.getSnapshot(), STARTED_AT_MS);
    if (event) actor.send({ ...event, atMs: STARTED_AT_MS });
  }
  const snapshot = actor.getSnapshot();
  const announced = { type: "announced", n: 1, results: [{ url: "spool:here" }], atMs: STARTED_AT_MS } satisfies Outcome;
  const event = interruptedBy(
    SEQ,
    { leaf: leafOf(snapshot), snapshot },
    { leftOutcome: () => announced, clock: { ...testClock(), nowMs: () => nowMs } },
  );
  expect(event).toEqual({ ...announced, atMs: nowMs });
  if (event) actor.send(event);
  expect(deadlineOf(actor.getSnapshot())).toMatchObject({ kind: "collect", dueAtMs: nowMs + COLLECT_MS });
});
