// Model of the ledger in two maps and big integers: predicts the store's response to a move and the rows after it.

import type { Mutation } from "../../src/domain/mutations.ts";
import type { AttemptState } from "../../src/domain/types.ts";
import { capturedMutation, NOW_MS, PRICES, releasedMutation, startedMutation, stepMutation } from "../store/fixture.ts";
import { type AccountModel, NEW_ACCOUNT, settleDebt } from "./ledger-account.ts";
import { accountsOf, END_USER, submissionOf } from "./ledger-fixture.ts";
import { MOST_CREDITS, type Move } from "./ledger-moves.ts";

const ROUTES = ["a", "b", "c"] as const;

export type GenerationModel = {
  seq: number;
  id: string;
  accountSeq: number;
  /** Number of routes of its plan; the reserve is the price of the last one. */
  routes: number;
  reserved: bigint;
  key: number | null;
  body: number;
  endUser: boolean;
  version: number;
  status: "queued" | "running" | "succeeded" | "failed";
  cost: bigint | null;
  attempts: AttemptState[];
};
type Credit = { accountSeq: number; kind: "topup" | "adjust"; credits: number };

export type Model = {
  /** The number of this life on its database: each life has separate accounts and references. */
  round: number;
  /** By row number. */
  accounts: Map<number, AccountModel>;
  generations: Map<number, GenerationModel>;
  /** The use of each reference. */
  references: Map<number, Credit>;
};

export const emptyModel = (round: number): Model => ({
  round,
  accounts: new Map(accountsOf(round).map((seq) => [seq, { ...NEW_ACCOUNT }])),
  generations: new Map(),
  references: new Map(),
});

/** A mutation and the expected response: its kind and the credits moved. `touched` is the generation to compare. */
export type Predicted = { mutation: Mutation; kind: string; credits?: number; touched?: number };

const priceOf = (n: number): number => PRICES[ROUTES[n - 1] ?? "a"];
const UNDER_WAY: readonly AttemptState[] = ["intent", "sending", "accepted"];
const hasEnded = (one: GenerationModel): boolean => one.status === "succeeded" || one.status === "failed";

const pick = (model: Model, at: number): GenerationModel | undefined => {
  const all = [...model.generations.values()];
  return all[at % Math.max(1, all.length)];
};
const balanceOf = (model: Model, accountSeq: number): AccountModel => {
  const found = model.accounts.get(accountSeq);
  if (!found) throw new Error(`the model has no account ${accountSeq}`);
  return found;
};
/** The spend of the account's key, all on one day. */
export const spentOf = (model: Model, accountSeq: number): bigint =>
  [...model.generations.values()]
    .filter((one) => one.accountSeq === accountSeq)
    .reduce((sum, { cost, reserved }) => sum + (cost ?? reserved), 0n);
/** Whether the key's limit allows this amount. */
const isWithin = (model: Model, accountSeq: number, reserved: bigint): boolean => {
  const { dayLimit } = balanceOf(model, accountSeq);
  return dayLimit === null || spentOf(model, accountSeq) + reserved <= BigInt(dayLimit);
};

const predictLimit = (model: Model, asked: Extract<Move, { move: "limit" }>): Predicted => {
  const accountSeq = seqOf(model, asked.account);
  const limits = { day: asked.day, week: null, month: null };
  const mutation: Mutation = { mutation: "set-key", keyId: `key_${accountSeq}`, limits, atMs: NOW_MS };
  if (asked.day === 0) return { mutation, kind: "refused" };
  const balance = balanceOf(model, accountSeq);
  balance.dayLimit = asked.day;
  if (asked.day !== null) balance.isMetered = true;
  return { mutation, kind: "done" };
};

/** The spend of the account's end user, all on one day: holds plus costs, and holds alone. */
export const endUserSpentOf = (model: Model, accountSeq: number): { spent: bigint; held: bigint } => {
  const own = [...model.generations.values()].filter((one) => one.accountSeq === accountSeq && one.endUser);
  return {
    spent: own.reduce((sum, { cost, reserved }) => sum + (cost ?? reserved), 0n),
    held: own.reduce((sum, { cost, reserved }) => sum + (cost === null ? reserved : 0n), 0n),
  };
};
/** Whether the limit of the end user allows this amount. */
const isWithinEndUser = (model: Model, accountSeq: number, endUser: boolean, reserved: bigint): boolean => {
  const { endUserLimit } = balanceOf(model, accountSeq);
  return !endUser || endUserLimit === null || endUserSpentOf(model, accountSeq).spent + reserved <= BigInt(endUserLimit);
};

const predictEndUserLimit = (model: Model, asked: Extract<Move, { move: "endUserLimit" }>): Predicted => {
  const { total } = asked;
  const accountSeq = seqOf(model, asked.account);
  const limit = total === null ? null : ({ window: "total", credits: total } as const);
  const mutation: Mutation = { mutation: "set-end-user-limit", accountSeq, endUser: END_USER, limit, atMs: NOW_MS };
  const balance = balanceOf(model, accountSeq);
  if (total === -1 || (total === null && !balance.isEndUserKnown)) return { mutation, kind: "refused" };
  balance.endUserLimit = total;
  // Without a limit and a generation, its name is erased.
  balance.isEndUserKnown =
    total !== null || [...model.generations.values()].some((one) => one.accountSeq === accountSeq && one.endUser);
  return { mutation, kind: "done" };
};

/** Row number of the account of a move. */
const seqOf = (model: Model, account: number): number => [...model.accounts.keys()][account] ?? 0;

const predictCredit = (model: Model, asked: Extract<Move, { move: "topUp" | "adjust" }>): Predicted => {
  const { credits, reference } = asked;
  const accountSeq = seqOf(model, asked.account);
  const kind = asked.move === "topUp" ? "topup" : "adjust";
  const mutation: Mutation = {
    mutation: "credit",
    accountSeq,
    kind,
    credits,
    note: "",
    reference: reference === null ? null : `ref-${model.round}-${reference}`,
    atMs: NOW_MS,
  };
  const isAmount = Number.isSafeInteger(credits) && credits !== 0 && (kind === "adjust" || credits > 0);
  if (!isAmount) return { mutation, kind: "refused" };
  const known = reference === null ? undefined : model.references.get(reference);
  if (known) {
    const isSame = known.accountSeq === accountSeq && known.kind === kind && known.credits === credits;
    return isSame ? { mutation, kind: "done", credits: 0 } : { mutation, kind: "refused" };
  }
  const balance = balanceOf(model, accountSeq);
  const moved = BigInt(credits) < -balance.available ? -balance.available : BigInt(credits);
  if (balance.available + balance.held + balance.charged + moved > MOST_CREDITS) return { mutation, kind: "refused" };
  balance.available += moved;
  balance.put += moved;
  balance.owed += moved - BigInt(credits);
  if (moved !== BigInt(credits)) balance.isPaused = true;
  else if (credits > 0) settleDebt(balance);
  if (reference !== null) model.references.set(reference, { accountSeq, kind, credits });
  return { mutation, kind: "done", credits: Number(moved) };
};

const predictAdmit = (model: Model, asked: Extract<Move, { move: "admit" }>): Predicted => {
  const { routes, key, body, limit, endUser } = asked;
  const accountSeq = seqOf(model, asked.account);
  const mutation = submissionOf({ accountSeq, routes, key, body, limit, endUser });
  const isKnown = (one: GenerationModel) => one.accountSeq === accountSeq && one.key === key;
  const known = key === null ? undefined : [...model.generations.values()].find(isKnown);
  if (known) return { mutation, kind: known.body === body ? "replayed" : "idempotency_conflict", touched: known.seq };
  const balance = balanceOf(model, accountSeq);
  const reserved = BigInt(priceOf(routes));
  if (balance.inProgress >= BigInt(limit)) return { mutation, kind: "concurrency_limit" };
  if (!isWithin(model, accountSeq, reserved)) return { mutation, kind: "key_limit" };
  if (!isWithinEndUser(model, accountSeq, endUser, reserved)) return { mutation, kind: "end_user_limit" };
  if (balance.owed > 0n) return { mutation, kind: "owed" };
  if (balance.available < reserved) return { mutation, kind: "insufficient_credits" };
  balance.available -= reserved;
  balance.held += reserved;
  balance.inProgress += 1n;
  balance.isEndUserKnown ||= endUser;
  const { seq, id } = mutation;
  model.generations.set(seq, {
    ...{ seq, id, accountSeq, routes, reserved, key, body, endUser, version: 0, status: "queued", cost: null, attempts: [] },
  });
  return { mutation, kind: "admitted", touched: seq };
};

/** Admits an existing row number again: the existing row does not change. */
const predictAdmitAgain = (model: Model, asked: Extract<Move, { move: "admitAgain" }>): Predicted | null => {
  const one = pick(model, asked.at);
  if (!one) return null;
  const mutation = submissionOf({ ...one, routes: asked.routes, key: null, body: 0, limit: 1000 }, one);
  if (!isWithin(model, one.accountSeq, BigInt(priceOf(asked.routes)))) return { mutation, kind: "key_limit", touched: one.seq };
  if (!isWithinEndUser(model, one.accountSeq, one.endUser, BigInt(priceOf(asked.routes))))
    return { mutation, kind: "end_user_limit", touched: one.seq };
  const { owed, available } = balanceOf(model, one.accountSeq);
  if (owed > 0n) return { mutation, kind: "owed", touched: one.seq };
  const covers = available >= BigInt(priceOf(asked.routes));
  return { mutation, kind: covers ? "refused" : "insufficient_credits", touched: one.seq };
};

/** The final states of the open attempts after a transition that ends the generation or continues it. */
const closing = (one: GenerationModel, except: number): { n: number; state: AttemptState }[] =>
  one.attempts.flatMap((state, index) => {
    if (!UNDER_WAY.includes(state) || index + 1 === except) return [];
    return [{ n: index + 1, state: state === "intent" ? ("cancelled" as const) : ("failed" as const) }];
  });
const close = (one: GenerationModel, changes: { n: number; state: AttemptState }[]): void => {
  for (const { n, state } of changes) one.attempts[n - 1] = state;
};

const predictBegin = (one: GenerationModel, isSent: boolean): Predicted => {
  const n = one.attempts.length + 1;
  const closed = closing(one, n);
  const whole = startedMutation(submissionOf({ ...one, limit: 1000 }, one), one.version + 1, n, ROUTES[n - 1] ?? "a");
  const [begin, ...sent] = whole.attemptChanges;
  const job = sent.map((change) => (change.job ? { ...change, job: { jobId: `job-${one.id}-${n}` } } : change));
  const changes = [...closed, ...(begin ? [begin] : []), ...(isSent ? job : [])];
  // An attempt that was not sent has no deadline yet: it waits as long as the generation may.
  const waits = { kind: "submit", n, dueAtMs: NOW_MS + 3_600_000 } as const;
  const mutation = { ...whole, attemptChanges: changes, ...(isSent ? {} : { deadline: waits }) };
  if (hasEnded(one)) return { mutation, kind: "stale", touched: one.seq };
  close(one, closed);
  one.attempts.push(isSent ? "accepted" : "intent");
  one.version += 1;
  one.status = "running";
  return { mutation, kind: "stepped", touched: one.seq };
};

const predictCapture = (model: Model, one: GenerationModel, asked: Extract<Move, { move: "capture" }>): Predicted => {
  const { n, price } = asked;
  const own = priceOf(n);
  const credits = {
    "its own": own,
    "another route's": priceOf((n % 3) + 1),
    "more than the hold": Number(one.reserved) + 1,
    less: 1,
  }[price];
  const closed = closing(one, n);
  const mutation = capturedMutation(one.seq, one.version + 1, n, credits);
  mutation.attemptChanges = [...closed, { n, state: "delivered" }];
  if (hasEnded(one)) return { mutation, kind: "stale", touched: one.seq };
  const state = one.attempts[n - 1];
  // The charge is for an attempt with a job, at the price with which it began.
  const isBought = state !== undefined && state !== "intent" && state !== "cancelled";
  if (!isBought || credits !== own) return { mutation, kind: "refused", touched: one.seq };
  close(one, [...closed, { n, state: "delivered" }]);
  const balance = balanceOf(model, one.accountSeq);
  balance.held -= one.reserved;
  balance.charged += BigInt(own);
  balance.available += one.reserved - BigInt(own);
  balance.inProgress -= 1n;
  settleDebt(balance);
  Object.assign(one, { status: "succeeded", cost: BigInt(own), version: one.version + 1 });
  return { mutation, kind: "stepped", touched: one.seq };
};

const predictRelease = (model: Model, one: GenerationModel): Predicted => {
  const closed = closing(one, 0);
  const mutation = releasedMutation(one.seq, one.version + 1, { attemptChanges: closed });
  if (hasEnded(one)) return { mutation, kind: "stale", touched: one.seq };
  close(one, closed);
  const balance = balanceOf(model, one.accountSeq);
  balance.held -= one.reserved;
  balance.available += one.reserved;
  balance.inProgress -= 1n;
  settleDebt(balance);
  Object.assign(one, { status: "failed", cost: 0n, version: one.version + 1 });
  return { mutation, kind: "stepped", touched: one.seq };
};

const predictMark = (one: GenerationModel, asked: Extract<Move, { move: "mark" }>): Predicted => {
  const { n, as } = asked;
  const change = as === "over" ? { n, watchUntilMs: null } : { n, state: as };
  const mutation: Mutation = { mutation: "mark-attempt", seq: one.seq, atMs: NOW_MS + 900_000, change };
  const state = one.attempts[n - 1];
  const hasJob = state !== undefined && state !== "intent" && state !== "cancelled";
  const mayBe = as === "over" ? state !== undefined : as === "late" ? hasJob && state !== "delivered" : state === "delivered";
  if (!hasEnded(one) || !mayBe) return { mutation, kind: "refused", touched: one.seq };
  if (as === "late") one.attempts[n - 1] = "late";
  return { mutation, kind: "done", touched: one.seq };
};

/** Predicts the store's response to a move and applies the move to the model. Null if the move has no target. */
export const predict = (model: Model, asked: Move): Predicted | null => {
  switch (asked.move) {
    case "topUp":
    case "adjust":
      return predictCredit(model, asked);
    case "admit":
      return predictAdmit(model, asked);
    case "admitAgain":
      return predictAdmitAgain(model, asked);
    case "limit":
      return predictLimit(model, asked);
    case "endUserLimit":
      return predictEndUserLimit(model, asked);
    default:
  }
  const one = pick(model, asked.at);
  if (!one) return null;
  switch (asked.move) {
    case "begin":
      return one.attempts.length < one.routes ? predictBegin(one, asked.isSent) : null;
    case "note": {
      const mutation = stepMutation(one.seq, one.version + 1, {
        stateAfter: one.status === "queued" ? "queued" : "running.polling",
      });
      if (hasEnded(one)) return { mutation, kind: "stale", touched: one.seq };
      one.version += 1;
      return { mutation, kind: "stepped", touched: one.seq };
    }
    case "capture":
      return predictCapture(model, one, asked);
    case "release":
      return predictRelease(model, one);
    case "halfAnEnd": {
      const whole = releasedMutation(one.seq, one.version + 1, { attemptChanges: closing(one, 0) });
      const { settlement: _, ...unsettled } = whole;
      const mutation = asked.lacks === "settlement" ? unsettled : { ...whole, snapshot: "{}" };
      return { mutation, kind: hasEnded(one) ? "stale" : "refused", touched: one.seq };
    }
    case "mark":
      return predictMark(one, asked);
    case "stale":
      return { mutation: stepMutation(one.seq, one.version + 1 + asked.by), kind: "stale", touched: one.seq };
  }
};
