// Property of the last credit: concurrent submissions through the real admission and ledger under a scheduler.
import fc from "fast-check";
import { createLedger } from "../../actors/ledger.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import { newId } from "../../src/domain/ids.ts";
import type { Caller } from "../../src/domain/types.ts";
import { createSubmit, type SubmitResult } from "../../src/generations/submit.ts";
import type { Store } from "../../src/store/store.ts";
import { testClock } from "../clock.ts";
import { newGeneration } from "../new-generation.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import { NOW_MS, openAccount, topUp, violations } from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";
import type { Property } from "./property.ts";

type Race = {
  /** For each submission: its idempotency key (null for none) and one of two bodies. */
  submissions: { key: number | null; body: number }[];
  /** The number of reserves that the balance covers, and remaining credits. */
  covers: number;
  rest: number;
  limit: number;
  scheduler: fc.Scheduler;
};
/** A model whose reserve is the price of its most expensive route. */
const MODEL = "sim-image-1";
const catalogue = sampleCatalogue();
const INPUTS = [{ prompt: "a fox" }, { prompt: "an owl" }] as const;

const races: fc.Arbitrary<Race> = fc.record({
  submissions: fc.array(fc.record({ key: fc.option(fc.nat(2), { freq: 2 }), body: fc.constantFrom(0, 0, 1) }), {
    minLength: 1,
    maxLength: 8,
  }),
  covers: fc.nat(8),
  rest: fc.nat(5),
  limit: fc.constantFrom(1, 2, 3, 5, 100, 100, 100),
  scheduler: fc.scheduler(),
});

/** The admission and the ledger over a store, with every wait under the scheduler. */
const openRace = (store: Store, scheduler: fc.Scheduler) => {
  const clock = testClock(0, NOW_MS);
  const turn = (label: string) => scheduler.schedule(Promise.resolve(), label);
  const faults: unknown[] = [];
  const ledger = createLedger({
    clock,
    soon: (then) => void turn("soon").then(then),
    commit: async (mutations) => {
      await turn(`commit of ${mutations.length}`);
      const outcomes = await store.commit(mutations);
      await turn("committed");
      return outcomes;
    },
    committed: () => undefined,
    unknown: (fault) => faults.push(fault),
    full: () => faults.push("full"),
    defect: (fault) => faults.push(fault),
  });
  const submit = createSubmit({
    reads: {
      generationByKey: async (accountSeq, key) => {
        const found = await store.generationByKey(accountSeq, key);
        await turn("read of the key");
        return found;
      },
      account: (id) => store.account(id),
    },
    admit: (mutation) => ledger.post(mutation),
    admission: () => "open",
    catalogue: () => catalogue,
    routeState: () => "up",
    expectedMs: () => undefined,
    allowsHost: () => false,
    measure: async () => [],
    ownFiles: { isOwn: () => false, find: async () => undefined, open: () => async () => undefined, keepMs: 0 },
    pins: { isTrusting: false, mostBytes: 1 },
    nameGeneration: newGeneration,
    limits: { inProgress: 1000, noWaitMs: 86_400_000 },
    skipped: () => undefined,
    clock,
  });
  return { submit, faults };
};

type Answer = { key: number | null; body: number } & ({ accepted: SubmitResult } | { code: string });

const answersOf = async ({ submissions, scheduler, limit }: Race, store: Store, caller: Caller) => {
  const { submit, faults } = openRace(store, scheduler);
  const answers = submissions.map(async ({ key, body }): Promise<Answer> => {
    const request = { input: INPUTS[body] ?? INPUTS[0] ?? {}, model: MODEL };
    const text = JSON.stringify(request);
    const order = {
      ...{
        caller: { ...caller, inProgressLimit: limit },
        requestId: newId("req"),
        model: MODEL,
        input: request.input,
      },
      ...{ maxCostCredits: 10_000, maxWaitMs: null, idempotencyKey: key === null ? null : `key-${key}` },
      body: text,
    };
    return submit(order).then(
      (accepted): Answer => ({ key, body, accepted }),
      (fault: unknown): Answer => {
        if (fault instanceof ApiError) return { key, body, code: fault.code };
        throw fault;
      },
    );
  });
  await scheduler.waitFor(Promise.all(answers));
  if (faults.length > 0) throw new Error(`the ledger failed: ${faults.join("; ")}`);
  return Promise.all(answers);
};

const insist = (what: string, seen: unknown, wanted: unknown): void => {
  if (seen !== wanted) throw new Error(`${what}: ${seen}, not ${wanted}`);
};

/** Checks for one generation per key, as many as balance and limit allow, and the right error for the others. */
const judge = (race: Race, answers: readonly Answer[]): number => {
  const keys = new Set(race.submissions.flatMap(({ key }) => (key === null ? [] : [key])));
  const demands = keys.size + race.submissions.filter(({ key }) => key === null).length;
  const most = Math.min(demands, race.covers, race.limit);
  const made = answers.flatMap((answer) => ("accepted" in answer && !answer.accepted.replayed ? [answer.accepted.record] : []));
  insist("generations made", made.length, most);
  insist("ids of them", new Set(made.map(({ id }) => id)).size, most);
  const shortage = race.limit <= race.covers ? "concurrency_limit" : "insufficient_credits";
  for (const answer of answers) {
    const bound = answers.find((other) => answer.key !== null && other.key === answer.key && "accepted" in other);
    if ("accepted" in answer) {
      if (bound && "accepted" in bound) {
        insist("the id of a key", answer.accepted.record.id, bound.accepted.record.id);
        insist("the body of a key", answer.body, bound.body);
      } else insist("a replay without a key", answer.accepted.replayed, false);
    } else if (answer.code === "idempotency_conflict")
      insist("a conflict's key is bound to the other body", bound?.body, 1 - answer.body);
    else insist("a refusal", answer.code, shortage);
  }
  return made.length;
};

/** Checks a retry of all submissions after a top-up: a rejection has bound no idempotency key. */
const judgeRetry = (answers: readonly Answer[], again: readonly Answer[]): number => {
  let made = 0;
  for (const [at, answer] of again.entries()) {
    const first = answers[at];
    if ("accepted" in answer && !answer.accepted.replayed) made += 1;
    if (first && "accepted" in first && first.key !== null)
      insist(
        "the id of a key asked again",
        "accepted" in answer ? answer.accepted.record.id : answer.code,
        first.accepted.record.id,
      );
    // With enough credits, only a key with another body is rejected.
    if ("code" in answer) insist("a refusal with credits for all", answer.code, "idempotency_conflict");
  }
  return made;
};

/** The number of races on one store, each with a separate account, before the store is verified and replaced. */
const RACES_OF_A_STORE = 200;

const openRaces = () => {
  let opening: Promise<{ store: Store; reserve: number }> | null = null;
  /** Opens a store for many races, and determines the reserve of one generation. */
  const open = async () => {
    const store = await openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS });
    const account = await openAccount(store, 10_000);
    const caller = await store.callerByKeyHash(account.keyHash);
    if (!caller) throw new Error("no caller");
    const race: Race = {
      submissions: [{ key: null, body: 0 }],
      covers: 1,
      rest: 0,
      limit: 9,
      scheduler: fc.schedulerFor([1, 2, 3]),
    };
    const [answer] = await answersOf(race, store, caller);
    if (!answer || !("accepted" in answer)) throw new Error("the first submission was refused");
    return { store, reserve: answer.accepted.record.reservedCredits };
  };
  let submissions = 0;
  let races = 0;
  const finish = async (): Promise<void> => {
    if (opening === null) return;
    const { store } = await opening;
    opening = null;
    races = 0;
    const broken = await violations(store, null);
    await store.close();
    insist("what verify finds", JSON.stringify(broken), "[]");
  };
  return {
    figures: () => ({ submissions }),
    play: async (race: Race): Promise<void> => {
      if (races >= RACES_OF_A_STORE) await finish();
      races += 1;
      opening ??= open();
      const { store, reserve } = await opening;
      const account = await openAccount(store, 0);
      const credits = race.covers * reserve + Math.min(race.rest, reserve - 1);
      if (credits > 0) await topUp(store, account.seq, credits);
      const caller = await store.callerByKeyHash(account.keyHash);
      if (!caller) throw new Error("no caller");
      const answers = await answersOf(race, store, caller);
      const made = judge(race, answers);
      submissions += race.submissions.length;
      const row = await store.account(account.id);
      insist("held", row?.heldCredits, made * reserve);
      insist("available", row?.availableCredits, credits - made * reserve);
      insist("in progress", row?.inProgress, made);
      await topUp(store, account.seq, answers.length * reserve);
      const retry: Race = { ...race, limit: 100 };
      const more = judgeRetry(answers, await answersOf(retry, store, caller));
      insist("held after the retries", (await store.account(account.id))?.heldCredits, (made + more) * reserve);
    },
    finish,
  };
};

export const lastCreditProperty: Property<Race> = {
  name: "last-credit",
  says: "accepts exactly as many concurrent submissions as the balance covers, one for each idempotency key",
  runsOf: (runs) => Math.min(runs, Math.max(100, Math.floor(runs / 5))),
  arbitrary: races,
  isReplayedBySeed: true,
  open: openRaces,
};
