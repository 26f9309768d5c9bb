// Decides an admission, such as the credit check (402): all rules in order of precedence.
import { isSameRequest, type StoredRequest } from "../../domain/idempotency.ts";
import { fallsBelow } from "../../domain/low-balance.ts";
import type { AdmitResult } from "../../domain/mutations.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import { type EndUser, type EndUserHold, endUserHoldOf, endUserShortageOf } from "../sql/end-users.ts";
import { type Bound, isExpired, type Spend, shortageOf, spendOf } from "../sql/key-policy.ts";
import { type Chained, chain, type Head } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { admittedRecord, type PackedAdmit } from "../sql/serialized-mutations.ts";

/** An earlier submission with the same idempotency key: its generation and its request. */
export type KnownSubmission = { record: GenerationRecord; request: StoredRequest };
/** The stored rows that an admission depends on. */
export type AdmissionRows = {
  /** The balance of the account; undefined without an account. */
  head: Head | undefined;
  /** The earlier submission with the idempotency key, if there is one. */
  known: KnownSubmission | undefined;
  /** Expiry and spend limit of the API key; undefined: neither. */
  bound: Bound | undefined;
  /** Credits that the keys of a spend limit have spent since a day, inclusive. */
  spentSince: (meterSeq: number, day: number) => Credits;
  /** The end user that the submission names; undefined: none, or the account has not named it yet. */
  endUser: EndUser | undefined;
  /** Credits that an end user has spent since a day, inclusive. */
  endUserSpentSince: (endUserSeq: number, day: number) => Credits;
  /** The available credits below which the balance is low; 0: never. */
  thresholdCredits: Credits;
  /** Whether an uploaded file that the input names is stored; its row is locked. */
  isFileStored: (fileSeq: number) => boolean;
};

/**
 * What is written beside the generation: its hold, the changes of the spending of its key and of its end user, and whether an event
 * about a low balance.
 */
export type AdmissionWrites = { held: Chained; spend: Spend | null; endUserHold: EndUserHold | null; makesBalanceLow: boolean };
type Admitted = Extract<AdmitResult, { kind: "admitted" }>;
type NotAdmitted = Exclude<AdmitResult, Admitted>;
export type AdmissionDecision = { result: Admitted; writes: AdmissionWrites } | { result: NotAdmitted; writes: null };

/** The known generation, or the conflict of another request with the same key. */
const replay = ({ record, request }: KnownSubmission, { body }: Pick<PackedAdmit, "body">): NotAdmitted =>
  isSameRequest(request, body) ? { kind: "replayed", record } : { kind: "idempotency_conflict" };

/**
 * Returns the first violated rule: expiry of the key, concurrency, spend limit of the key, limit of the end user, debt, balance;
 * undefined if there is none.
 */
const admissionError = (
  {
    inProgressLimit,
    reservedCredits,
    createdAtMs,
    labels,
  }: Pick<PackedAdmit, "inProgressLimit" | "reservedCredits" | "createdAtMs" | "labels">,
  { inProgress, availableCredits, owedCredits }: Head,
  { bound, spentSince, endUser, endUserSpentSince }: AdmissionRows,
): NotAdmitted | undefined => {
  if (bound && isExpired(bound, createdAtMs)) return { kind: "key_expired" };
  if (inProgress >= inProgressLimit) return { kind: "concurrency_limit" };
  const shortage = bound?.meter && shortageOf(bound.meter, createdAtMs, reservedCredits, spentSince);
  if (shortage) return shortage;
  const name = labels?.endUser ?? "";
  const endUserShortage = endUser && endUserShortageOf(name, endUser, createdAtMs, reservedCredits, endUserSpentSince);
  if (endUserShortage) return endUserShortage;
  if (owedCredits > 0) return { kind: "owed", owedCredits };
  return availableCredits < reservedCredits ? { kind: "insufficient_credits", availableCredits } : undefined;
};

/**
 * Decides a submission. A known idempotency key outranks all other rules.
 * @throws MutationRejected without an account, which is a defect of the caller.
 */
export const decideAdmission = (mutation: PackedAdmit, rows: AdmissionRows): AdmissionDecision => {
  const { head, known, bound } = rows;
  const { seq, accountSeq, reservedCredits, createdAtMs } = mutation;
  if (!head) throw new MutationRejected(`there is no account ${accountSeq}`);
  if (known) return { result: replay(known, mutation), writes: null };
  const lost = mutation.files?.inputs.find(({ fileSeq }) => fileSeq !== null && !rows.isFileStored(fileSeq));
  if (lost) return { result: { kind: "file_deleted", field: lost.field }, writes: null };
  const refusal = admissionError(mutation, head, rows);
  if (refusal) return { result: refusal, writes: null };
  const held = chain(head, {
    kind: "hold",
    credits: reservedCredits,
    from: "available",
    to: "held",
    generationSeq: seq,
    attemptN: null,
    atMs: createdAtMs,
    note: null,
    progress: 1,
  });
  return {
    result: { kind: "admitted", record: admittedRecord(mutation) },
    writes: {
      held,
      spend: spendOf(bound?.meter, createdAtMs, reservedCredits),
      endUserHold: endUserHoldOf(mutation.labels?.endUser, createdAtMs, reservedCredits),
      makesBalanceLow: fallsBelow(head.availableCredits, held.link.availableAfter, rows.thresholdCredits),
    },
  };
};
