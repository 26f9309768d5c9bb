// Runs every reachable pair of situation and event through the real host and store, and checks the money after each transition.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { EFFECT_ON_ENTRY } from "../../actors/generation/machine.ts";
import { leafOf } from "../../actors/generation/snapshot.ts";
import type { Effect, GenerationEvent } from "../../actors/generation/types.ts";
import { ActorHost, type HostDeps, type PersistedGeneration } from "../../actors/supervisor/actor-host.ts";
import { generationId } from "../../src/domain/ids.ts";
import type { TransitionResult } from "../../src/domain/transition.ts";
import type { GenerationRecord, PlannedRoute } from "../../src/domain/types.ts";
import type { Store } from "../../src/store/store.ts";
import { casesOfShare } from "../case-share.ts";
import { newGenerationSeq } from "../new-generation.ts";
import { openHere } from "../store/open-store.ts";
import {
  after,
  COLLECT_MS,
  eventFor,
  explore,
  nameOf,
  type Path,
  PLANS,
  type Situation,
  STARTED_AT_MS,
  VARIANTS,
  WAIT_MS,
  walk,
} from "./explore.ts";

const CREDITS = 1_000_000;
let store: Store;
const accountOf = async () => {
  const account = await store.account("acc_pairs");
  if (!account) throw new Error("no account");
  return account;
};

beforeAll(async () => {
  store = await openHere({ path: ":memory:", mode: "test", nowMs: STARTED_AT_MS });
  const [account] = await store.commit([{ mutation: "create-account", id: "acc_pairs", name: "pairs", atMs: STARTED_AT_MS }]);
  if (account?.kind !== "done") throw new Error("no account");
  const accountSeq = (await accountOf()).seq;
  await store.commit([
    { mutation: "credit", accountSeq, kind: "topup", credits: CREDITS, note: "", reference: null, atMs: STARTED_AT_MS },
    {
      mutation: "create-key",
      id: "key_pairs",
      accountSeq,
      scope: "generate",
      name: "",
      hash: "0".repeat(64),
      start: "gr",
      atMs: STARTED_AT_MS,
    },
  ]);
});
afterAll(() => store.close());

/** Admits a generation to the store and opens its host, which receives events one by one. */
const openSubject = async (plan: readonly PlannedRoute[], serial: number) => {
  const seq = newGenerationSeq(STARTED_AT_MS);
  const id = generationId(seq);
  const prices = plan.map((route) => route.priceCredits);
  const { seq: accountSeq } = await accountOf();
  // Job ids and references are unique: each subject has different ones.
  const own = (event: GenerationEvent): GenerationEvent => {
    if (event.type === "accepted" || event.type === "announced" || event.type === "settledByOperator")
      return event.job ? { ...event, job: { jobId: `${serial}-${event.job.jobId}` } } : event;
    return event.type === "begun" ? { ...event, ref: `${id.slice("gen_".length)}-${event.n}` } : event;
  };
  const [admitted] = await store.commit([
    {
      mutation: "admit",
      seq,
      id,
      accountSeq,
      keySeq: 1,
      model: "m",
      idempotencyKey: null,
      body: '{"input":{}}',
      added: {},
      plan: [...plan],
      quotedCredits: Math.min(...prices),
      reservedCredits: Math.max(...prices),
      maxCostCredits: 10_000,
      inProgressLimit: 1_000_000,
      createdAtMs: STARTED_AT_MS,
      waitEndsAtMs: STARTED_AT_MS + WAIT_MS,
      requestId: "req",
    },
  ]);
  if (admitted?.kind !== "admitted") throw new Error(`not admitted: ${admitted?.kind}`);
  let record: GenerationRecord = admitted.record;
  let stepped = 0;
  let lost: string | null = null;
  let leaf = "queued";
  let asks: Effect[] = [];
  const reread = async (): Promise<PersistedGeneration | undefined> => (await store.unfinished(seq - 1, 1))[0];
  const parts: HostDeps = {
    collectMs: COLLECT_MS,
    keepFilesMs: 1000,
    post: async (mutation) => (await store.commit([mutation]))[0] as TransitionResult,
    space: async () => undefined,
    nowMs: () => STARTED_AT_MS,
    reread,
    unread: (_, __, fault) => Promise.reject(fault),
    woke: () => undefined,
    dealtWith: () => undefined,
    rested: () => undefined,
    isWanted: () => true,
    unused: () => undefined,
    late: () => undefined,
    stepped: (_, __, after, wanted, next) => {
      stepped += 1;
      asks = wanted;
      record = next;
      leaf = leafOf(after);
    },
    lost: (_, reason) => {
      lost = reason;
    },
  };
  const host = new ActorHost({ seq, id, accountSeq }, parts);
  host.wake({ version: 0, plan, waitEndsAtMs: STARTED_AT_MS + WAIT_MS, snapshot: null });
  return {
    seq,
    /** Sends an event and waits until it is on disk or ignored. @returns whether it made a transition. */
    report: async (event: GenerationEvent): Promise<boolean> => {
      const before = stepped;
      host.send(own(event));
      await host.idle();
      return stepped > before;
    },
    record: () => record,
    leaf: () => leaf,
    /** The effects of its last transition. */
    asks: () => asks,
    lost: () => lost,
    /** Stops its host, so that thousands of subjects do not accumulate. */
    end: () => host.end(),
  };
};
type Subject = Awaited<ReturnType<typeof openSubject>>;

/** Checks what must hold of the money and the record after every transition. */
const checkMoney = async (subject: Subject, heldBefore: number): Promise<string[]> => {
  const faults: string[] = [];
  const account = await accountOf();
  const record = subject.record();
  const transfers = await store.transfersOf(subject.seq);
  const moved = (kind: string) => transfers.filter((each) => each.kind === kind).map((each) => each.credits);
  const sum = (kind: string) => moved(kind).reduce((total, credits) => total + credits, 0);
  if (account.availableCredits + account.heldCredits + account.chargedCredits !== CREDITS)
    faults.push("credits are not conserved");
  if (moved("hold").length !== 1 || sum("hold") !== record.reservedCredits) faults.push("not exactly one hold");
  const hasEnded = record.completedAtMs !== null;
  if (account.heldCredits !== heldBefore + (hasEnded ? 0 : record.reservedCredits))
    faults.push("the held credits are not the reserve");
  if (record.status === "succeeded" && (sum("capture") !== record.costCredits || moved("capture").length !== 1))
    faults.push("the capture is not the cost");
  if (record.status !== "succeeded" && sum("capture") !== 0) faults.push("credits were captured without success");
  if (hasEnded && sum("capture") + sum("release") !== record.reservedCredits) faults.push("the settlement is not the hold");
  if (!hasEnded && sum("release") !== 0) faults.push("credits were released before the end");
  const delivered = (await store.attemptsOf(subject.seq)).filter((attempt) => attempt.state === "delivered");
  if (delivered.length !== (record.status === "succeeded" ? 1 : 0)) faults.push(`${delivered.length} attempts delivered`);
  if (record.status === "succeeded" && delivered[0]?.priceCredits !== record.costCredits)
    faults.push("the cost is not the quote of the route that delivered");
  if (delivered[0] && !subject.asks().some((ask) => ask.type === "effect.letGo" && ask.n === delivered[0]?.n))
    faults.push("effects of the attempt that delivered were not cancelled");
  return faults;
};

let serial = 0;
const bring = async (plan: readonly PlannedRoute[], path: Path, situation: Situation): Promise<Subject> => {
  serial += 1;
  const subject = await openSubject(plan, serial);
  for (const [step, variant] of path.entries()) {
    const before = situationsOnPath(plan, path.slice(0, step));
    const event = eventFor(variant, before, step);
    if (!event) throw new Error(`the path to ${situation.path.map(nameOf).join(" ")} breaks at ${nameOf(variant)}`);
    await subject.report(event);
  }
  return subject;
};
/** Ends a remaining subject, so that it neither holds credits nor counts as stuck. */
const settle = async (subject: Subject): Promise<void> => {
  const found = (await store.unfinished(subject.seq - 1, 1))[0];
  subject.end();
  if (found?.seq !== subject.seq) return;
  const open = (await store.attemptsOf(subject.seq)).filter(({ state }) => ["intent", "sending", "accepted"].includes(state));
  const [outcome] = await store.commit([
    {
      mutation: "step",
      seq: subject.seq,
      version: found.version + 1,
      atMs: STARTED_AT_MS + WAIT_MS,
      event: { type: "waitEnded" },
      stateAfter: "failed",
      snapshot: null,
      status: "failed",
      message: null,
      attemptChanges: open.map(({ n, state }) => ({
        n,
        state: state === "intent" ? ("cancelled" as const) : ("lost" as const),
        endedAtMs: STARTED_AT_MS + WAIT_MS,
      })),
      settlement: { kind: "release", error: { code: "timed_out", message: "the test is over" } },
    },
  ]);
  if (outcome?.kind !== "stepped") throw new Error(`cannot end a remaining subject: ${JSON.stringify(outcome)}`);
};
const snapshots = new Map<string, Situation["snapshot"]>();
const situationsOnPath = (plan: readonly PlannedRoute[], path: Path): Situation["snapshot"] => {
  const key = `${PLANS.indexOf(plan as PlannedRoute[])}:${path.map(nameOf).join(" ")}`;
  const known = snapshots.get(key) ?? walk(plan, path).getSnapshot();
  snapshots.set(key, known);
  return known;
};

const explored = new Map(PLANS.map((plan) => [plan, explore(plan)]));
const plans = casesOfShare("plans", [...PLANS.entries()], ([nth]) => `plan ${nth + 1}`);
for (const [nth, plan] of plans)
  test(`plan ${nth + 1}: every event in every situation keeps the ledger correct and reaches the machine's state`, async () => {
    const situations = explored.get(plan) ?? new Map<string, Situation>();
    let pairs = 0;
    let steps = 0;
    const seen = new Set<string>();
    const faults: string[] = [];
    for (const [name, situation] of situations) {
      const possible = VARIANTS.flatMap((variant) => {
        const event = eventFor(variant, situation.snapshot, situation.path.length);
        const mayBegin = variant.type !== "begun" || situation.snapshot.context.nextRoute < plan.length;
        return event && mayBegin ? [{ variant, event }] : [];
      });
      let subject: Subject | null = null;
      let heldBefore = 0;
      for (const [at, { variant, event }] of possible.entries()) {
        if (!subject) {
          heldBefore = (await accountOf()).heldCredits;
          subject = await bring(plan, situation.path, situation);
        }
        const expected = leafOf(after(situation, variant));
        const hasStepped = await subject.report(event);
        pairs += 1;
        seen.add(`${leafOf(situation.snapshot)} ${variant.type}`);
        const where = `${name} + ${nameOf(variant)}`;
        // If an event that should be ignored wrote something, the check of the subject's last event finds it.
        if (hasStepped || at === possible.length - 1)
          faults.push(...(await checkMoney(subject, heldBefore)).map((fault) => `${where}: ${fault}`));
        if (subject.lost() !== null) faults.push(`${where}: lost: ${subject.lost()}`);
        if (subject.leaf() !== expected) faults.push(`${where}: is ${subject.leaf()}, not ${expected}`);
        if (hasStepped) {
          steps += 1;
          await settle(subject);
          subject = null;
        }
      }
      if (subject) await settle(subject);
      if (faults.length > 20) break;
    }
    expect(faults).toEqual([]);
    const leaves = [...new Set([...situations.values()].map(({ snapshot }) => leafOf(snapshot)))];
    const reachable = [...situations.values()].flatMap(({ snapshot, path }) =>
      VARIANTS.filter(
        (variant) =>
          eventFor(variant, snapshot, path.length) !== null &&
          (variant.type !== "begun" || snapshot.context.nextRoute < plan.length),
      ).map((variant) => `${leafOf(snapshot)} ${variant.type}`),
    );
    const all = new Set(reachable);
    process.stdout.write(
      `plan ${nth + 1}: ${situations.size} situations in ${leaves.length} states, ${pairs} pairs run, ${steps} steps, ` +
        `coverage of reachable (state, event) pairs ${Math.floor((100 * seen.size) / all.size)}% (${seen.size} of ${all.size})\n`,
    );
    expect(seen.size).toBe(all.size);
    const broken = (await store.verify(STARTED_AT_MS)).filter((check) => !check.ok);
    expect(broken).toEqual([]);
  }, 240_000);

test("the plans together reach every state of the machine", () => {
  const reached = new Set(
    [...explored.values()].flatMap((plan) => [...plan.values()].map(({ snapshot }) => leafOf(snapshot) as string)),
  );
  expect([...reached].sort()).toEqual([...Object.keys(EFFECT_ON_ENTRY), "succeeded", "failed"].sort());
});
