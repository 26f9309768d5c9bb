// The mutations: everything that can be written, each all or nothing; the ledger posts them, a store carries them out.

import type { KeyNetwork } from "../config/cidr-list.ts";
import type { Ordered } from "../domain/delivery-check.ts";
import type { Decision } from "../domain/operator-decision.ts";
import type {
  AttemptState,
  Credits,
  Deadline,
  Failure,
  GenerationError,
  GenerationRecord,
  GenerationStatus,
  Job,
  JsonObject,
  KeyLimits,
  KeyScope,
  KeyTerms,
  KeyWindow,
  Output,
  PinnedCopy,
  PinRequest,
  PlannedRoute,
  ResultFile,
  RouteSpec,
} from "../domain/types.ts";
import type { PurchaseMutation, PurchaseResult } from "./purchase-mutations.ts";
import type { UserMutation } from "./user-mutations.ts";

/** Accepts a submission: key, limits and balance are decided inside, in that order, then hold, row and `start` command. */
export type AdmitGeneration = {
  mutation: "admit";
  seq: number;
  id: string;
  accountSeq: number;
  keySeq: number;
  model: string;
  idempotencyKey: string | null;
  /** The request as sent, in one line, with its input inside: what a replay is compared with. */
  body: string;
  /** Of the request (src/domain/idempotency.ts); null without a key. */
  fingerprint: string | null;
  /** The defaults of what the input left out. */
  added: JsonObject;
  plan: readonly PlannedRoute[];
  /** What is to be delivered for it; absent: it is not compared. */
  ordered?: Ordered;
  quotedCredits: Credits;
  reservedCredits: Credits;
  maxCostCredits: Credits;
  /** Generations the account may have queued or running. */
  inProgressLimit: number;
  createdAtMs: number;
  /** No attempt begins after this. */
  waitEndsAtMs: number;
  requestId: string;
  /** Links of its input that are pinned before the first attempt; absent: none. */
  pins?: readonly PinRequest[];
};
export type AdmitResult =
  | { kind: "admitted"; record: GenerationRecord }
  | { kind: "replayed"; record: GenerationRecord }
  | { kind: "idempotency_conflict" }
  | { kind: "concurrency_limit" }
  /** The key has expired since it was let in. */
  | { kind: "key_expired" }
  /** What may be spent with the key in a window does not cover the reserve; the window that begins anew last, where several do not. */
  | { kind: "key_limit"; window: KeyWindow; limitCredits: Credits; leftCredits: Credits; anewAtMs: number }
  /** While anything is owed nothing is held. */
  | { kind: "owed"; owedCredits: Credits }
  | { kind: "insufficient_credits"; availableCredits: Credits }
  /** A constraint said no: a defect. Nothing was written. */
  | { kind: "refused"; reason: string };

/** A change of one attempt row. `begin` inserts it in state `intent`; otherwise only the members present change. */
export type AttemptChange = {
  n: number;
  begin?: { ref: string; route: RouteSpec; priceCredits: Credits };
  state?: AttemptState;
  request?: string;
  sentAtMs?: number;
  endsAtMs?: number;
  job?: Job;
  results?: ResultFile[];
  failure?: Failure;
  watchUntilMs?: number | null;
  endedAtMs?: number;
};

/** How a generation ends; the money moves in the same transaction. */
export type Settlement =
  /** Charges attempt `n` at its own price, releases the rest of the hold, ends the generation `succeeded`. What is released settles a debt. */
  | { kind: "capture"; n: number; credits: Credits; output: Output; filesExpireAtMs: number }
  /** Releases the whole hold, ends the generation `failed`. */
  | { kind: "release"; error: GenerationError };

/** One event of one generation: journal line, snapshot, rows and money together. */
export type ApplyTransition = {
  mutation: "step";
  seq: number;
  /** The version this step makes; the stored one must be exactly one less (0 before the first step). */
  version: number;
  atMs: number;
  /** The event as the machine received it, and the state it led to (`running.polling`). */
  event: JsonObject & { type: string };
  stateAfter: string;
  /** How to continue: the machine's state as JSON; null once the generation has ended. */
  snapshot: string | null;
  status?: GenerationStatus;
  message?: string | null;
  /** Attempts begun so far, when it changed. */
  attempts?: number;
  attemptChanges: AttemptChange[];
  settlement?: Settlement;
  /** Copies of its pinned inputs, which are there now. */
  pinned?: readonly PinnedCopy[];
  /** The one deadline from now on, when it changed; null for none. A generation that has ended has none. */
  deadline?: Deadline | null;
};
export type TransitionResult =
  /** `settledCredits`: how much of a debt was settled with what its end gave back; absent: nothing was owed. */
  | { kind: "stepped"; record: GenerationRecord; settledCredits?: Credits }
  /** The stored version is another one: somebody else went on, or the generation has ended. Nothing was written. */
  | { kind: "stale" }
  /** A constraint said no: a defect. Nothing was written. */
  | { kind: "refused"; reason: string };

/** Changes an attempt of a generation that has ended (a late delivery, a watch that is over). */
export type MarkAttempt = { mutation: "mark-attempt"; seq: number; atMs: number; change: AttemptChange };
/**
 * Adds to the balance, or takes off it. `reference` makes it happen once: the same reference again changes nothing. What is asked and not
 * there to take is owed, and pauses the account; what comes in, or is given back at the end of a generation, settles what is owed first,
 * and a debt that is settled lifts its pause.
 */
export type AdjustBalance = {
  mutation: "credit";
  accountSeq: number;
  kind: "topup" | "adjust";
  /** Positive for a top-up; an adjustment may be negative and takes at most what is available. */
  credits: Credits;
  note: string;
  reference: string | null;
  atMs: number;
};
/** Takes what an account owes out of what it has available, where an earlier release has left both. */
export type SettleDebt = { mutation: "settle-debt"; accountSeq: number; atMs: number };
/** Decides how much a refund or dispute in another currency than usd takes back of its purchase; 0: nothing. */
export type DecideReversal = { mutation: "decide-reversal"; id: string; credits: Credits; reason: string; atMs: number };
export type CreateAccount = { mutation: "create-account"; id: string; name: string; atMs: number };
export type UpdateAccount = {
  mutation: "set-account";
  accountSeq: number;
  paused?: boolean;
  burstPerS?: number | null;
  inProgressLimit?: number | null;
};
export type CreateKey = {
  mutation: "create-key";
  id: string;
  accountSeq: number;
  scope: KeyScope;
  name: string;
  /** SHA-256 of the key, hex; the key itself is never stored. */
  hash: string;
  /** The first characters, to recognise it by. */
  start: string;
  terms?: KeyTerms;
  atMs: number;
};
/**
 * Changes a key that was not revoked; members absent are left alone. Limits hold for the whole line of keys that follow each other by
 * rotation; those set where there were none count what the line has spent in their windows so far.
 */
export type UpdateKey = {
  mutation: "set-key";
  keyId: string;
  name?: string;
  limits?: Partial<KeyLimits>;
  atMs: number;
} & Partial<Pick<KeyTerms, "expiresAtMs" | "models">>;
/** Makes a key with the same terms, which takes the place of another once that expires, `overlapMs` later at the latest. */
export type RotateKey = {
  mutation: "rotate-key";
  keyId: string;
  overlapMs: number;
  id: string;
  hash: string;
  start: string;
  atMs: number;
};
/** Notes the first use of a key from a network, and tells the audit log of it. */
export type RecordKeyNetwork = { mutation: "note-key-network"; atMs: number } & KeyNetwork;
/** Notes when keys were last used, as `[keySeq, atMs]`. */
export type RecordKeyUse = { mutation: "note-key-use"; uses: readonly (readonly [keySeq: number, atMs: number])[] };
/** Adds up to `limit` further postings to what generations came to by day. */
export type RollUpUsage = { mutation: "roll-up-usage"; limit: number };
export type RevokeKey = { mutation: "revoke-key"; keyId: string; atMs: number };
/** Who wanted a mutation; written beside it in the audit log, in the same transaction. */
export type Principal = { kind: "person" | "command" | "service"; id: string; name: string };

/** An operator decides about a generation that has not ended: written down before its owner is told. `attempt`: the one settled. */
export type DecideGeneration = {
  mutation: "decide-generation";
  seq: number;
  decision: Decision;
  attempt: number | null;
  reason: string;
  atMs: number;
};
/** Marks the files of a generation as deleted; the row stays. */
export type ExpireFiles = { mutation: "expire-files"; seq: number; atMs: number };
/** Marks the copies of a generation's pinned inputs as deleted. */
export type DeletePinnedInputs = { mutation: "drop-pins"; seq: number; atMs: number };
/** Keeps a provider's credential, sealed; one that is there is replaced. */
export type SetProviderCredential = { mutation: "set-provider-key"; account: string; id: string; sealed: string; atMs: number };
export type RemoveProviderCredential = { mutation: "drop-provider-key"; account: string };
/** Switches a route off for a reason, or on again (null), which also forgets why it was down. */
export type SwitchRoute = { mutation: "switch-route"; routeId: string; reason: string | null; atMs: number };
/** Saves a route-health machine. */
export type SaveRouteHealth = { mutation: "save-route-health"; routeId: string; snapshot: string; atMs: number };
/** Keeps the highest time ever seen, so that time never runs backwards across a restart. */
export type Heartbeat = { mutation: "beat"; atMs: number };
/** Notes how far a recovery came, for the next one to read if this one does not survive. */
export type RecordRecovery = { mutation: "note-recovery"; text: string };

/** An operator has looked after what a restored backup knows nothing of. */
export type SettleRestored = { mutation: "settle-restored"; reason: string; atMs: number };

/** A mutation of an operator or a person carries `by` (and `atMs`), and is then written into the audit log with it. */
export type AdminMutation = { by?: Principal; atMs?: number } & (
  | MarkAttempt
  | AdjustBalance
  | SettleDebt
  | DecideReversal
  | CreateAccount
  | UpdateAccount
  | CreateKey
  | UpdateKey
  | RotateKey
  | RecordKeyUse
  | RecordKeyNetwork
  | RollUpUsage
  | RevokeKey
  | DecideGeneration
  | ExpireFiles
  | DeletePinnedInputs
  | SetProviderCredential
  | RemoveProviderCredential
  | SwitchRoute
  | SaveRouteHealth
  | Heartbeat
  | RecordRecovery
  | SettleRestored
  | UserMutation
);
export type AdminResult =
  /** `credits`: what a credit mutation really moved. `of`: the id of the key that was used from a network for the first time. */
  | { kind: "done"; seq?: number; credits?: Credits; of?: string }
  /** Nothing was written; `reason` is a sentence for the operator. */
  | { kind: "refused"; reason: string };

export type Mutation = AdmitGeneration | ApplyTransition | AdminMutation | PurchaseMutation;
export type MutationResult = AdmitResult | TransitionResult | AdminResult | PurchaseResult;
/** The outcome that belongs to a mutation. */
export type ResultOf<D extends Mutation> = D extends AdmitGeneration
  ? AdmitResult
  : D extends ApplyTransition
    ? TransitionResult
    : D extends PurchaseMutation
      ? PurchaseResult
      : AdminResult;

/** The disk has no free space: the whole batch was rolled back, nothing was written, it may be tried again. */
export class StoreFull extends Error {}
/** Whether the batch was written is not known: answer nobody, stop the process, let recovery read what is there. */
export class StoreUnknown extends Error {}

/** What recovery reads of a generation that had not ended. */
export type OpenGeneration = {
  seq: number;
  id: string;
  accountSeq: number;
  status: "queued" | "running";
  createdAtMs: number;
  waitEndsAtMs: number;
  plan: readonly PlannedRoute[];
  version: number;
  snapshot: string | null;
  /** Links of its input are still to be pinned. */
  awaitsPins: boolean;
  /** Null only when it is parked. */
  deadline: Deadline | null;
};
