// Recovery at a start applies spooled outcomes, except outdated rejections.
//
// A rejection is outdated if a look-up by key may have submitted the job again since, or if its attempt was sent again.
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
/** The send that the spooled outcome answers, and a later send of the same attempt. */
const [SENT_AT_MS, SENT_AGAIN_AT_MS] = [1_790_000_000_000, 1_790_000_008_000];
const ACCEPTED: Outcome = { type: "accepted", n: 1, job: { jobId: "job-1" }, atMs: 1 };

/** What a start finds of a spooled outcome of a provider that is looked up by key or by list. */
const leftOf = async (provider: "by-key" | "by-list", outcome: Outcome) => {
  const dir = join(freshDir(), "outcomes");
  const spool = await createOutcomeSpool(dir, Date.now);
  await spool.keep({ ref: REF, sentAtMs: SENT_AT_MS, provider, outcome });
  const asksByKey = (one: string) => one === "by-key";
  const inHand = createPendingOutcomes({
    spool,
    clock: testClock(),
    log: () => undefined,
    isUnavailable: () => false,
    looksUpByKey: asksByKey,
  });
  const found = await inHand.open({ jobOwner: async () => undefined });
  return {
    inHand,
    dir,
    spool,
    found,
    byMachine: [false, true].map((canBeLookedUp) => inHand.find(SEQ, 1, { sentAtMs: SENT_AT_MS, canBeLookedUp })),
  };
};

test("a start finds a spooled outcome for recovery and for the statechart", async () => {
  for (const [provider, outcome] of [
    ["by-key", ACCEPTED],
    ["by-list", ACCEPTED],
    ["by-list", REFUSED],
  ] as const) {
    const { found, byMachine } = await leftOf(provider, outcome);
    expect(found).toEqual([{ seq: SEQ, sentAtMs: SENT_AT_MS, outcome }]);
    expect(byMachine).toEqual([outcome, outcome]);
  }
});

test("a start ignores a spooled rejection once a look-up by key may have submitted the job again", async () => {
  const { found, byMachine } = await leftOf("by-key", REFUSED);
  expect(found).toEqual([]);
  expect(byMachine).toEqual([REFUSED, undefined]);
});

test("an outcome that was passed to the owner is deleted from disk and still found in memory", async () => {
  const { inHand, dir } = await leftOf("by-list", ACCEPTED);
  inHand.passedOn({ seq: SEQ, sentAtMs: SENT_AT_MS, outcome: ACCEPTED });
  await eventually(() => readdirSync(dir).length === 0, "an empty spool");
  expect(inHand.find(SEQ, 1)).toEqual(ACCEPTED);
});

// A node was killed between the commit of a rejection and the deletion of its file. Another node sent the attempt again, and the
// provider accepted it. The first node took the generation over and applied the rejection, so the job was bought twice.
test("a rejection of an earlier send does not decide a later send of its attempt, and a job does", async () => {
  const later = [false, true].map((canBeLookedUp) => ({ sentAtMs: SENT_AGAIN_AT_MS, canBeLookedUp }));
  const rejected = await leftOf("by-list", REFUSED);
  expect(later.map((send) => rejected.inHand.find(SEQ, 1, send))).toEqual([undefined, undefined]);
  const accepted = await leftOf("by-list", ACCEPTED);
  expect(later.map((send) => accepted.inHand.find(SEQ, 1, send))).toEqual([ACCEPTED, ACCEPTED]);
});

test("responses to two sends of an attempt are spooled beside each other, and both are deleted with its acceptance", async () => {
  const { inHand, spool, dir } = await leftOf("by-list", REFUSED);
  await spool.keep({ ref: REF, sentAtMs: SENT_AGAIN_AT_MS, provider: "by-list", outcome: ACCEPTED });
  expect((await spool.read()).map(({ sentAtMs, outcome }) => [sentAtMs, outcome.type]).sort()).toEqual([
    [SENT_AT_MS, "rejected"],
    [SENT_AGAIN_AT_MS, "accepted"],
  ]);
  await inHand.open({ jobOwner: async () => undefined });
  expect(inHand.find(SEQ, 1, { sentAtMs: SENT_AGAIN_AT_MS, canBeLookedUp: true })).toEqual(ACCEPTED);
  inHand.dealtWith(SEQ, ACCEPTED);
  await eventually(() => readdirSync(dir).length === 0, "an empty spool");
});

// The rejection was passed on, which takes no time, while the acceptance was still on its way to the owner.
test("a rejection that is passed on leaves the acceptance of a later send on disk", async () => {
  const { inHand, spool, dir } = await leftOf("by-list", REFUSED);
  await spool.keep({ ref: REF, sentAtMs: SENT_AGAIN_AT_MS, provider: "by-list", outcome: ACCEPTED });
  await inHand.open({ jobOwner: async () => undefined });
  inHand.passedOn({ seq: SEQ, sentAtMs: SENT_AT_MS, outcome: REFUSED });
  await eventually(() => readdirSync(dir).length === 1, "the deletion of the rejection");
  expect((await spool.read()).map(({ outcome }) => outcome)).toEqual([ACCEPTED]);
});

test("a file of an earlier build names no send: its job counts, and its rejection does not", async () => {
  for (const [outcome, expected] of [
    [ACCEPTED, ACCEPTED],
    [REFUSED, undefined],
  ] as const) {
    const dir = join(freshDir(), "outcomes");
    const spool = await createOutcomeSpool(dir, Date.now);
    await Bun.write(join(dir, `${REF}.json`), JSON.stringify({ provider: "by-list", outcome }));
    const inHand = createPendingOutcomes({
      ...{ spool, clock: testClock(), log: () => undefined, isUnavailable: () => false, looksUpByKey: () => false },
    });
    await inHand.open({ jobOwner: async () => undefined });
    expect(inHand.find(SEQ, 1, { sentAtMs: SENT_AT_MS, canBeLookedUp: false })).toEqual(expected as Outcome);
    inHand.drop(SEQ, 1);
    await eventually(() => readdirSync(dir).length === 0, "an empty spool");
  }
});

// The spooled rejection of a restarted node removed a job from the orphans that a look-up by key had submitted meanwhile.
test("simulation seed 21061, in which a start once applied an outdated rejection, has no faults", async () => {
  expect((await runSeed(21061)).faults).toEqual([]);
}, 60_000);

/** Starts with one spooled outcome of a generation that this node does not own. @returns the outcomes passed to the owner */
const passedOnAtStart = async (outcome: Outcome): Promise<Outcome[]> => {
  const reported: Outcome[] = [];
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>();
  const dropped: number[] = [];
  const recover = createRecovery({
    store: { generationBySeq: async () => ({ completedAtMs: null }), watched: async () => [] },
    ...{ post: async () => ({ kind: "done" }), perform: () => undefined, clock: testClock(), log: () => undefined },
    supervisor: { recover: async () => 0, has: () => false, resume: () => undefined, report: () => undefined },
    inHand: {
      open: async () => [{ seq: SEQ, sentAtMs: SENT_AT_MS, outcome }],
      passedOn: ({ seq }: { seq: number }) => void dropped.push(seq),
    },
    passOn: async (_: number, one: Outcome) => void reported.push(one),
    waiting: async () => new Map(),
    share: async (results: { url: string }[]) => results.map(({ url }) => ({ url: url.replace("here", "shared") })),
    ...{ soon: setImmediate, opened, isOver: () => true },
  } as unknown as Parameters<typeof createRecovery>[0]);
  await Promise.all([recover(), isOpen]);
  await eventually(() => dropped.length === 1, "an empty spool");
  return reported;
};

test("a start passes a spooled acceptance to the owner of the generation but not a spooled rejection", async () => {
  expect(await passedOnAtStart(ACCEPTED)).toEqual([ACCEPTED]);
  expect(await passedOnAtStart(REFUSED)).toEqual([]);
  // Inline results are moved to shared storage, where the owner can read them.
  const announced = { type: "announced", n: 1, atMs: 1 } as const;
  expect(await passedOnAtStart({ ...announced, results: [{ url: "spool:here" }] })).toEqual([
    { ...announced, results: [{ url: "spool:shared" }] },
  ]);
});

/** Whether an outcome is still spooled after `happens` and after a later outcome was dropped. */
const isKeptAfter = async (
  outcome: Outcome,
  happens: (inHand: ReturnType<typeof createPendingOutcomes>) => void,
): Promise<boolean> => {
  const { inHand, dir, spool } = await leftOf("by-list", outcome);
  const [seq, ref] = [2 * SEQ, `${generationId(2 * SEQ).slice("gen_".length)}-1`];
  await spool.keep({ ref, sentAtMs: SENT_AT_MS, provider: "by-list", outcome: ACCEPTED });
  await inHand.open({ jobOwner: async () => undefined });
  happens(inHand);
  inHand.drop(seq, 1);
  const names = () => readdirSync(dir);
  await eventually(() => !names().some((name) => name.startsWith(ref)), "the deletion of the other file");
  return names().some((name) => name.startsWith(REF));
};
const GIVEN_UP = { type: "attemptTimeEnded", n: 1, atMs: 2 } as const;

// An outcome was queued behind the event that gave its attempt up. The file was deleted with that event, and the process
// exited before the outcome itself was committed.
test("a spooled outcome stays on disk until its own event is committed, even if the generation has ended", async () => {
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

test("a start reports a spooled acceptance of an abandoned attempt to the statechart but not a rejection", async () => {
  const reportedAtStart = async (outcome: Outcome, completedAtMs: number | null = null, sentAtMs = SENT_AT_MS) => {
    const reported: unknown[] = [];
    const recover = createRecovery({
      store: {
        generationBySeq: async () => ({ completedAtMs }),
        attempt: async () => ({ sentAtMs }),
        watchedAttempts: async () => [],
      },
      ...{ post: async () => ({ kind: "done" }), perform: () => undefined, clock: testClock(), log: () => undefined },
      supervisor: {
        recover: async () => 1,
        has: () => true,
        resume: () => undefined,
        report: (...received: unknown[]) => reported.push(received),
      },
      inHand: { open: async () => [{ seq: SEQ, sentAtMs: SENT_AT_MS, outcome }], passedOn: () => undefined },
      waiting: async () => new Map(),
      ...{ passOn: async () => undefined, soon: setImmediate, opened: () => undefined, isOver: () => false },
    } as unknown as Parameters<typeof createRecovery>[0]);
    await recover();
    return reported;
  };
  expect(await reportedAtStart(ACCEPTED)).toEqual([[SEQ, { ...ACCEPTED, atMs: expect.any(Number) }]]);
  expect(await reportedAtStart(REFUSED)).toEqual([]);
  // An attempt that this process has sent for the first time, in a restored database, has another job.
  expect(await reportedAtStart(ACCEPTED, null, SENT_AGAIN_AT_MS)).toEqual([]);
  // In an ended generation nothing is sent any more. The rejection counts for the last send, and a job for any.
  expect(await reportedAtStart(REFUSED, 2)).toEqual([[SEQ, { ...REFUSED, atMs: expect.any(Number) }]]);
  expect(await reportedAtStart(REFUSED, 2, SENT_AGAIN_AT_MS)).toEqual([]);
  expect(await reportedAtStart(ACCEPTED, 2, SENT_AGAIN_AT_MS)).toEqual([[SEQ, { ...ACCEPTED, atMs: expect.any(Number) }]]);
});

// After a database outage of limits.result_download_timeout_s, a start gave a paid result up 440 ms after it had found it.
test("the download timeout of a spooled result begins when the start restores its generation", () => {
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
