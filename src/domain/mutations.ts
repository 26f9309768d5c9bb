// Mutations: every write of the service, all or nothing.
//
// The ledger actor posts them and a store driver commits them.

import type { Ordered } from "./delivery-check.ts";
import type { EndUserWindow, SetEndUserLimit } from "./end-users.ts";
import type { LowBalance } from "./low-balance.ts";
import type { Decision } from "./operator-decision.ts";
import type { PurchaseMutation, PurchaseResult } from "./purchase-mutations.ts";
import type { SpendReached } from "./spend-alert.ts";
import type { ApplyTransition, AttemptChange, TransitionResult } from "./transition.ts";
import type {
  Credits,
  GenerationRecord,
  InputFile,
  JsonObject,
  KeyLimits,
  KeyNetwork,
  KeyScope,
  KeyTerms,
  KeyWindow,
  Labels,
  PinRequest,
  PlannedRoute,
  PromptRetention,
} from "./types.ts";
import type { UploadMutation, UploadResult } from "./upload-mutations.ts";
import type { UserMutation } from "./user-mutations.ts";
import type { PendingDelivery, WebhookMutation } from "./webhooks.ts";

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
  /** Metadata and end user; absent: neither. */
  labels?: Labels;
  /** Links of the input to pin before the first attempt; absent: none. */
  pins?: readonly PinRequest[];
  /** Stored files that the input names, and the new expiry of the uploaded ones; absent: none. */
  files?: { inputs: readonly InputFile[]; expireAtMs: number };
  /** Address for the events of this generation; absent: none. */
  webhookUrl?: string;
};
export type AdmitResult =
  /** `lowBalance`: the hold made the balance low. */
  | { kind: "admitted"; record: GenerationRecord; lowBalance?: LowBalance }
  | { kind: "replayed"; record: GenerationRecord }
  | { kind: "idempotency_conflict" }
  | { kind: "concurrency_limit" }
  /** The uploaded file of this field was deleted after it was looked up. */
  | { kind: "file_deleted"; field: string }
  /** The key has expired since authentication. */
  | { kind: "key_expired" }
  /**
   * The remaining spend limit of the key does not cover the hold. If several windows do not, the window that resets last is
   * reported.
   */
  | { kind: "key_limit"; window: KeyWindow; limitCredits: Credits; leftCredits: Credits; resetsAtMs: number }
  /** The remaining limit of the end user does not cover the hold. `resetsAtMs` null: never. */
  | {
      kind: "end_user_limit";
      endUser: string;
      window: EndUserWindow;
      limitCredits: Credits;
      leftCredits: Credits;
      resetsAtMs: number | null;
    }
  /** An account with a debt cannot place holds. */
  | { kind: "owed"; owedCredits: Credits }
  | { kind: "insufficient_credits"; availableCredits: Credits }
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
  /** In seconds; `forever`: texts are never erased by themselves. */
  promptRetentionS?: PromptRetention | null;
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
/**
 * Erases what a person wrote for an ended generation: request, metadata, end user, and texts of providers and receivers that can
 * repeat it. A repetition changes nothing. `keySeq`: only if this key submitted it. `withFiles`: its files are deleted now and not
 * after their retention.
 */
export type EraseGeneration = {
  mutation: "erase-generation";
  seq: number;
  accountSeq: number;
  keySeq?: number;
  withFiles: boolean;
  atMs: number;
};
/** The files of an erased generation are deleted. */
export type FinishFileRemoval = { mutation: "finish-file-removal"; seq: number };
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
  | EraseGeneration
  | FinishFileRemoval
  | DeletePinnedInputs
  | SetProviderCredential
  | RemoveProviderCredential
  | SwitchRoute
  | SaveRouteHealth
  | Heartbeat
  | RecordRecovery
  | SettleRestored
  | SetEndUserLimit
  | UserMutation
  | WebhookMutation
);
export type AdminResult =
  /**
   * `credits`: credits that were actually transferred. `of`: id of the key that was used from a network for the first time.
   * `count`: number of changed rows. `delivery`: a delivery that was added to the outbox. `lowBalance`: the balance became low.
   * `disabled`: row numbers of webhook endpoints that were enabled before. `spendReached`: accounts whose spend of a month has reached
   * their amount.
   */
  | {
      kind: "done";
      seq?: number;
      credits?: Credits;
      of?: string;
      count?: number;
      delivery?: PendingDelivery;
      disabled?: readonly number[];
      lowBalance?: LowBalance;
      spendReached?: readonly SpendReached[];
    }
  /** Nothing was written; `reason` is a sentence for the operator. */
  | { kind: "refused"; reason: string };

export type Mutation = AdmitGeneration | ApplyTransition | AdminMutation | PurchaseMutation | UploadMutation;
export type MutationResult = AdmitResult | TransitionResult | AdminResult | PurchaseResult | UploadResult;
/** The result type of a mutation. */
export type ResultOf<D extends Mutation> = D extends AdmitGeneration
  ? AdmitResult
  : D extends ApplyTransition
    ? TransitionResult
    : D extends PurchaseMutation
      ? PurchaseResult
      : D extends UploadMutation
        ? UploadResult
        : AdminResult;
