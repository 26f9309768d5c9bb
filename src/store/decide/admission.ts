// Decides an admission: the rules of idempotency key, API key, concurrency and balance (402), in order of precedence.
import { dayOf } from "../../domain/calendar.ts";
import { type FingerprintedRequest, isSameRequest } from "../../domain/idempotency.ts";
import type { AdmitGeneration, AdmitResult } from "../../domain/mutations.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import { type Bound, isExpired, shortageOf } from "../sql/key-policy.ts";
import { type Chained, chain, type Head } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { admittedRecord, type PackedAdmit } from "../sql/serialized-mutations.ts";

/** The generation that already used an idempotency key. */
export type UsedKey = { record: GenerationRecord; request: FingerprintedRequest };
/** A change of the spending of a spend limit on a day; negative credits are returned. */
export type Spend = { meterSeq: number; day: number; credits: Credits };

/** The stored rows that an admission depends on. */
export type AdmissionState = {
  /** The balance of the account; undefined without an account. */
  head: Head | undefined;
  /** The generation of the idempotency key, if there is one. */
  used: UsedKey | undefined;
  /** Expiry and spend limit of the API key; undefined: neither. */
  bound: Bound | undefined;
  /** Credits that the keys of a spend limit have spent since a day, inclusive. */
  spentSince: (meterSeq: number, day: number) => Credits;
};

/** The rows to write beside the generation: its hold, and the spending of its key. */
export type AdmissionWrites = { held: Chained; spend: Spend | null };
export type Admission =
  | { result: Extract<AdmitResult, { kind: "admitted" }>; writes: AdmissionWrites }
  | { result: Exclude<AdmitResult, { kind: "admitted" }>; writes: null };
type Refusal = Exclude<AdmitResult, { kind: "admitted" }>;

/** The generation of a known idempotency key, or the conflict of another request with the same key. */
const replay = ({ record, request }: UsedKey, sent: FingerprintedRequest): Refusal =>
  isSameRequest(request, sent) ? { kind: "replayed", record } : { kind: "idempotency_conflict" };

/** Returns the first violated rule of API key, account, concurrency and balance; undefined if there is none. */
const admissionError = (
  { inProgressLimit, reservedCredits, createdAtMs }: Pick<AdmitGeneration, "inProgressLimit" | "reservedCredits" | "createdAtMs">,
  { inProgress, availableCredits, owedCredits }: Head,
  { bound, spentSince }: Pick<AdmissionState, "bound" | "spentSince">,
): Refusal | undefined => {
  if (bound && isExpired(bound, createdAtMs)) return { kind: "key_expired" };
  if (inProgress >= inProgressLimit) return { kind: "concurrency_limit" };
  const shortage = bound?.meter && shortageOf(bound.meter, createdAtMs, reservedCredits, spentSince);
  if (shortage) return shortage;
  if (owedCredits > 0) return { kind: "owed", owedCredits };
  return availableCredits < reservedCredits ? { kind: "insufficient_credits", availableCredits } : undefined;
};

/**
 * Decides a submission. A known idempotency key outranks all other rules.
 * @throws MutationRejected without an account, which is a defect of the caller.
 */
export const decideAdmission = (mutation: PackedAdmit, state: AdmissionState): Admission => {
  const { head, used, bound } = state;
  const { seq, accountSeq, reservedCredits, createdAtMs } = mutation;
  if (!head) throw new MutationRejected(`there is no account ${accountSeq}`);
  if (used) return { result: replay(used, mutation), writes: null };
  const refusal = admissionError(mutation, head, state);
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
    writes: { held, spend: spendOf(bound?.meter, createdAtMs, reservedCredits) },
  };
};

/** The spending of a day, unless the limit does not count it. @param credits negative: returned. */
export const spendOf = (
  meter: { seq: number; fromDay: number } | null | undefined,
  atMs: number,
  credits: Credits,
): Spend | null => {
  const day = dayOf(atMs);
  return meter && credits !== 0 && day >= meter.fromDay ? { meterSeq: meter.seq, day, credits } : null;
};
