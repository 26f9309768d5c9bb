// Mutations: every write of the service, all or nothing.
//
// The ledger actor posts them and a store driver commits them.

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

/**
 * Accepts a submission. Key, limits and balance are checked in that order, then the hold, the row and the `start` deadline are
 * written.
 */
export type AdmitGeneration = {
  mutation: "admit";
  seq: number;
  id: string;
  accountSeq: number;
  keySeq: number;
  model: string;
  idempotencyKey: string | null;
  /** The request as sent, in one line with its input, for the comparison with a replay. */
  body: string;
  /** Fingerprint of the request (src/domain/idempotency.ts); null without a key. */
  fingerprint: string | null;
  /** Default values of omitted input fields. */
  added: JsonObject;
  plan: readonly PlannedRoute[];
  /** The expected delivery; absent: deliveries are not checked. */
  ordered?: Ordered;
  quotedCredits: Credits;
  reservedCredits: Credits;
  maxCostCredits: Credits;
  /** Maximum queued and running generations of the account. */
  inProgressLimit: number;
  createdAtMs: number;
  /** No attempt begins after this time. */
  waitEndsAtMs: number;
  requestId: string;
  /** Links of the input to pin before the first attempt; absent: none. */
  pins?: readonly PinRequest[];
};
export type AdmitResult =
  | { kind: "admitted"; record: GenerationRecord }
  | { kind: "replayed"; record: GenerationRecord }
  | { kind: "idempotency_conflict" }
  | { kind: "concurrency_limit" }
  /** The key has expired since authentication. */
  | { kind: "key_expired" }
  /**
   * The remaining spend limit of the key does not cover the hold. If several windows do not, the window that resets last is
   * reported.
   */
  | { kind: "key_limit"; window: KeyWindow; limitCredits: Credits; leftCredits: Credits; resetsAtMs: number }
  /** An account with a debt cannot place holds. */
  | { kind: "owed"; owedCredits: Credits }
  | { kind: "insufficient_credits"; availableCredits: Credits }
  /** A constraint rejected it, which is a defect. Nothing was written. */
  | { kind: "refused"; reason: string };

/** A change of one attempt row. `begin` inserts it in state `intent`; otherwise only the present members change. */
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

/** The end of a generation; its transfers are in the same transaction. */
export type Settlement =
  /**
   * Captures the price of attempt `n`, releases the rest of the hold and ends the generation `succeeded`. Released credits repay
   * a debt first.
   */
  | { kind: "capture"; n: number; credits: Credits; output: Output; filesExpireAtMs: number }
  /** Releases the whole hold and ends the generation `failed`. */
  | { kind: "release"; error: GenerationError };

/** One transition of one generation: event, snapshot, rows and transfers together. */
export type ApplyTransition = {
  mutation: "step";
  seq: number;
  /** Version after this transition; the stored version must be exactly one less (0 before the first). */
  version: number;
  atMs: number;
  /** The event as the statechart received it, and the state after it (`running.polling`). */
  event: JsonObject & { type: string };
  stateAfter: string;
  /** The snapshot as JSON; null once the generation has ended. */
  snapshot: string | null;
  status?: GenerationStatus;
  message?: string | null;
  /** Number of attempts begun, if it changed. */
  attempts?: number;
  attemptChanges: AttemptChange[];
  settlement?: Settlement;
  /** Copies of its pinned inputs, if they were created now. */
  pinned?: readonly PinnedCopy[];
  /** The deadline from now on, if it changed; null for none. An ended generation has none. */
  deadline?: Deadline | null;
};
export type TransitionResult =
  /** `settledCredits`: part of a debt that the released credits repaid; absent: no debt. */
  | { kind: "stepped"; record: GenerationRecord; settledCredits?: Credits }
  /** The stored version differs: another writer continued it, or it has ended. Nothing was written. */
  | { kind: "stale" }
  /** A constraint rejected it, which is a defect. Nothing was written. */
  | { kind: "refused"; reason: string };

/** Changes an attempt of an ended generation (a late delivery, the end of a watch). */
export type MarkAttempt = { mutation: "mark-attempt"; seq: number; atMs: number; change: AttemptChange };
/**
 * Adds to a balance or takes from it. `reference` makes it idempotent. Credits that cannot be taken become a debt, which pauses
 * the account. Incoming and released credits repay the debt first, and a repaid debt ends the pause.
 */
export type AdjustBalance = {
  mutation: "credit";
  accountSeq: number;
  kind: "topup" | "adjust";
  /** Positive for a top-up. An adjustment can be negative and takes at most the available credits. */
  credits: Credits;
  note: string;
  reference: string | null;
  atMs: number;
};
/** Repays a debt from available credits, if an earlier release left both. */
export type SettleDebt = { mutation: "settle-debt"; accountSeq: number; atMs: number };
/** Sets the amount that a refund or dispute in a currency other than USD takes from its purchase; 0: nothing. */
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
  /** SHA-256 of the key in hex; the key itself is never stored. */
  hash: string;
  /** The first characters of the key, to recognize it. */
  start: string;
  terms?: KeyTerms;
  atMs: number;
};
/**
 * Changes the policy of a key that was not revoked; absent members stay unchanged. Limits apply to all keys that follow each
 * other by rotation. A new limit counts what they have already spent in its window.
 */
export type UpdateKey = {
  mutation: "set-key";
  keyId: string;
  name?: string;
  limits?: Partial<KeyLimits>;
  atMs: number;
} & Partial<Pick<KeyTerms, "expiresAtMs" | "models">>;
/** Creates a key with the same policy that replaces another one, which expires after `overlapMs` at the latest. */
export type RotateKey = {
  mutation: "rotate-key";
  keyId: string;
  overlapMs: number;
  id: string;
  hash: string;
  start: string;
  atMs: number;
};
/** Records the first use of a key from a network in the audit log. */
export type RecordKeyNetwork = { mutation: "note-key-network"; atMs: number } & KeyNetwork;
/** Records when keys were last used, as `[keySeq, atMs]`. */
export type RecordKeyUse = { mutation: "note-key-use"; uses: readonly (readonly [keySeq: number, atMs: number])[] };
/** Adds up to `limit` further transfers to the daily usage. */
export type RollUpUsage = { mutation: "roll-up-usage"; limit: number };
export type RevokeKey = { mutation: "revoke-key"; keyId: string; atMs: number };
/** Who requested a mutation; written to the audit log in the same transaction. */
export type Principal = { kind: "user" | "command" | "service"; id: string; name: string };

/** An operator's decision about an open generation, stored before its owner receives it. `attempt`: the settled one. */
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
/** Marks the pinned inputs of a generation as deleted. */
export type DeletePinnedInputs = { mutation: "drop-pins"; seq: number; atMs: number };
/** Stores an encrypted provider credential; an existing one is replaced. */
export type SetProviderCredential = { mutation: "set-provider-key"; account: string; id: string; sealed: string; atMs: number };
export type RemoveProviderCredential = { mutation: "drop-provider-key"; account: string };
/** Disables a route for a reason, or enables it (null) and clears the reason why it was down. */
export type SwitchRoute = { mutation: "switch-route"; routeId: string; reason: string | null; atMs: number };
/** Stores the snapshot of a circuit breaker. */
export type SaveRouteHealth = { mutation: "save-route-health"; routeId: string; snapshot: string; atMs: number };
/** Stores the highest time seen, so that time never runs backwards across a restart. */
export type Heartbeat = { mutation: "beat"; atMs: number };
/** Stores the progress of a recovery for the next one, in case this one crashes. */
export type RecordRecovery = { mutation: "note-recovery"; text: string };

/** Records that an operator has settled the gap after a restored backup. */
export type SettleRestored = { mutation: "settle-restored"; reason: string; atMs: number };

/** A mutation of an operator or a user carries `by` (and `atMs`) and is then written to the audit log. */
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
  /** `credits`: credits that were actually transferred. `of`: id of the key that was used from a network for the first time. */
  | { kind: "done"; seq?: number; credits?: Credits; of?: string }
  /** Nothing was written; `reason` is a sentence for the operator. */
  | { kind: "refused"; reason: string };

export type Mutation = AdmitGeneration | ApplyTransition | AdminMutation | PurchaseMutation;
export type MutationResult = AdmitResult | TransitionResult | AdminResult | PurchaseResult;
/** The result type of a mutation. */
export type ResultOf<D extends Mutation> = D extends AdmitGeneration
  ? AdmitResult
  : D extends ApplyTransition
    ? TransitionResult
    : D extends PurchaseMutation
      ? PurchaseResult
      : AdminResult;

/** The disk is full: the whole batch was rolled back, nothing was written, and a retry is safe. */
export class StoreFull extends Error {}
/**
 * The outcome of the commit is unknown: no poster receives a result, and the process exits. Recovery then reads the stored rows.
 */
export class StoreUnknown extends Error {}

/** The stored state of an open generation for recovery. */
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
  /** Links of its input are not pinned yet. */
  awaitsPins: boolean;
  /** Null only if it is parked. */
  deadline: Deadline | null;
};
