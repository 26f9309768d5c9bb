// Decides a transition: whether it applies, the record after it, its attempt rows and the transfers of a settlement.

import { type ApplyTransition, firstVersionOf, type Settlement, type TransitionResult } from "../../domain/transition.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import type { WebhookEvent } from "../../domain/webhooks.ts";
import { type EndUserSettlement, endUserSettlementOf } from "../sql/end-users.ts";
import { type Spend, spendOf } from "../sql/key-policy.ts";
import type { Head, Transfer } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import type { PackedStep } from "../sql/serialized-mutations.ts";
import { type AttemptWrites, attemptWrites } from "./attempt-writes.ts";
import { eventOfTransition } from "./deliveries.ts";

/** The stored rows that a transition depends on. */
export type TransitionRows = {
  /** The generation and the version of its last transition. */
  generation: { record: GenerationRecord; version: number } | undefined;
  /** This writer may continue it: always on SQLite, on PostgreSQL if its epoch owns the generation. */
  isOwned: boolean;
  /** The balance of the account; read for a settlement only. */
  head: Head | undefined;
  /** The captured attempt before the transition; read for a capture only. */
  captured: { priceCredits: Credits; isDelivered: boolean } | undefined;
  /** The end user of the generation; null: none. */
  endUserSeq: number | null;
  /** Reads the spend limit of the API key; called for a settlement that releases credits. */
  meterOf: (generationSeq: number) => { seq: number; fromDay: number } | null;
};

/** The rows to write beside the event and the snapshot. */
export type TransitionWrites = {
  /** The generation after the transition. */
  record: GenerationRecord;
  /** Whether status, message or number of attempts were set without a settlement, which writes them itself. */
  isOpenRecordChanged: boolean;
  attempts: AttemptWrites[];
  /** Transfers of a settlement in chain order. */
  transfers: Transfer[];
  spend: Spend | null;
  endUserSettlement: EndUserSettlement | null;
  /**
   * Whether this is a settlement for an account with a debt. Its available credits then repay the debt, after these writes and in
   * the same transaction.
   */
  repaysDebt: boolean;
  /** The event for webhooks; null: none. */
  event: WebhookEvent | null;
};
export type TransitionDecision =
  | { result: Extract<TransitionResult, { kind: "stepped" }>; writes: TransitionWrites }
  | { result: { kind: "stale" }; writes: null };

const STALE = { result: { kind: "stale" }, writes: null } as const;

/**
 * Decides a transition. It is stale if the stored version is not the one before its first event, the generation has ended, or another writer
 * owns the generation.
 * @throws MutationRejected for a transition that contradicts itself or the stored rows, which is a defect of the caller.
 */
export const decideTransition = (mutation: PackedStep, rows: TransitionRows): TransitionDecision => {
  const { generation, isOwned, head } = rows;
  const { settlement, atMs } = mutation;
  if (!generation || generation.record.completedAtMs !== null || generation.version !== firstVersionOf(mutation) - 1)
    return STALE;
  if (!isOwned) return STALE;
  const before = generation.record;
  const fault = snapshotFault(mutation);
  if (fault !== undefined) throw new MutationRejected(fault);
  if (settlement && !head) throw new MutationRejected(`there is no account ${before.accountSeq}`);
  const attempts = mutation.attemptChanges.map((change) => attemptWrites(change, atMs));
  if (settlement?.kind === "capture") {
    requireQuotedPrice(mutation, settlement, rows.captured);
    if (!isDelivered(mutation, settlement.n, rows.captured)) attempts.push(deliveredMark(settlement.n, atMs));
  }
  const record = recordAfter(before, mutation);
  const { status, message, attempts: attemptCount } = mutation;
  const writes: TransitionWrites = {
    record,
    isOpenRecordChanged: !settlement && (status !== undefined || message !== undefined || attemptCount !== undefined),
    attempts,
    transfers: settlement ? settlementTransfers(record, settlement, atMs) : [],
    spend: settlement ? returnedSpend(record, rows) : null,
    endUserSettlement: settlement ? endUserSettlementOf(rows.endUserSeq, record) : null,
    repaysDebt: settlement !== undefined && (head?.owedCredits ?? 0) > 0,
    event: eventOfTransition(before, record),
  };
  return { result: { kind: "stepped", record }, writes };
};

type Captured = TransitionRows["captured"];

/** Requires that a capture is the price of its attempt, which may begin in the same transition. @throws MutationRejected */
const requireQuotedPrice = (
  { seq, attemptChanges }: PackedStep,
  { n, credits }: Extract<Settlement, { kind: "capture" }>,
  captured: Captured,
): void => {
  const begun = attemptChanges.find((change) => change.n === n && change.begin)?.begin;
  const price = begun?.priceCredits ?? captured?.priceCredits;
  if (price === undefined) throw new MutationRejected(`generation ${seq} has no attempt ${n}`);
  if (price !== credits) throw new MutationRejected(`attempt ${n} was quoted ${price} credits and the capture is ${credits}`);
};

/** Whether an attempt is marked `delivered`, before or by the transition. */
const isDelivered = ({ attemptChanges }: PackedStep, n: number, captured: Captured): boolean =>
  captured?.isDelivered === true || attemptChanges.some((change) => change.n === n && change.state === "delivered");

const deliveredMark = (n: number, atMs: number): AttemptWrites =>
  attemptWrites({ n, state: "delivered", watchUntilMs: null }, atMs);

/** The released credits of an ended generation return to the spend limit, on the day of the submission. */
const returnedSpend = (
  { seq, createdAtMs, reservedCredits, costCredits }: GenerationRecord,
  { meterOf }: Pick<TransitionRows, "meterOf">,
): Spend | null => {
  const credits = reservedCredits - (costCredits ?? 0);
  return credits > 0 ? spendOf(meterOf(seq), createdAtMs, -credits) : null;
};

/** The record after the transition is written. */
export const recordAfter = (
  before: GenerationRecord,
  {
    settlement,
    status,
    message,
    attempts,
    atMs,
  }: Pick<ApplyTransition, "settlement" | "status" | "message" | "attempts" | "atMs">,
): GenerationRecord => {
  const record = { ...before, attempts: attempts ?? before.attempts };
  if (!settlement)
    return { ...record, status: status ?? before.status, message: message === undefined ? before.message : message };
  // The clock never runs backwards, but a mutation can carry a time before the admission that it follows.
  const ended = { ...record, message: null, completedAtMs: Math.max(atMs, before.createdAtMs) };
  return settlement.kind === "capture"
    ? { ...ended, status: "succeeded", costCredits: settlement.credits, output: settlement.output }
    : { ...ended, status: "failed", costCredits: 0, error: settlement.error };
};

/** The transfers of an end in chain order: capture, then release. */
export const settlementTransfers = (
  { seq, reservedCredits }: Pick<GenerationRecord, "seq" | "reservedCredits">,
  settlement: Settlement,
  atMs: number,
): Transfer[] => {
  const shared = { generationSeq: seq, atMs, note: null };
  const captured = settlement.kind === "capture" ? settlement.credits : 0;
  const moves: Transfer[] = [];
  if (settlement.kind === "capture")
    moves.push({
      ...shared,
      kind: "capture",
      credits: captured,
      from: "held",
      to: "charged",
      attemptN: settlement.n,
      progress: -1,
    });
  const restCredits = reservedCredits - captured;
  if (restCredits !== 0)
    moves.push({
      ...shared,
      kind: "release",
      credits: restCredits,
      from: "held",
      to: "available",
      attemptN: null,
      progress: settlement.kind === "release" ? -1 : 0,
    });
  return moves;
};

/** A transition that ends has no snapshot, and any other requires one. @returns the violation. */
const snapshotFault = ({ settlement, snapshot }: Pick<ApplyTransition, "settlement" | "snapshot">): string | undefined => {
  if (settlement) return snapshot === null ? undefined : "an ended generation keeps no snapshot";
  return snapshot === null ? "an open generation requires a snapshot" : undefined;
};
