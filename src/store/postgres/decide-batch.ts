// Decides the mutations of a group in memory over locked rows and collects their writes.
import { dayOf } from "../../domain/calendar.ts";
import { isSameRequest } from "../../domain/idempotency.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import type { AdmitResult, AttemptChange, MutationResult, TransitionResult } from "../mutations.ts";
import { admissionError } from "../sql/admission-rules.ts";
import { expiryOf, shortageOf } from "../sql/key-policy.ts";
import { chain, type Head, headAfter, type Transfer } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { admittedRecord, type PackedAdmit, type PackedStep } from "../sql/serialized-mutations.ts";
import { recordAfter, settlementTransfers, snapshotFault } from "../sql/settlement.ts";
import { emptyWrites, type Writes } from "./flush-batch.ts";
import { attemptName, type BatchedMutation, keyName, type Loaded } from "./load-batch.ts";

export type DecideBatchDeps = {
  /** Epoch of this opening, part of every row that transfers credits or stores an event. */
  epoch: number;
  /** Returns the next transfer number. */
  newTransferSeq: () => number;
  /** Whether writes are fenced; false only in a test. */
  minds: boolean;
};

/**
 * A transition would release credits that repay a debt, which may end a pause. Such changes take the admin lock before any
 * balance, so the batch is rolled back and repeated mutation by mutation.
 */
export class DebtInTheWay extends Error {
  override readonly name = "DebtInTheWay";
}

/**
 * Decides mutations in order; each includes the effects of earlier ones. @param settlesDebts Whether the caller repays debts
 * after the writes.
 * @throws DebtInTheWay if it does not.
 */
export const createBatchDecider = (loaded: Loaded, { epoch, newTransferSeq, minds }: DecideBatchDeps, settlesDebts: boolean) => {
  const { heads, used, standings: currentRows, attempts, bounds, spent } = loaded;
  const writes: Writes = emptyWrites();

  const moved = (accountSeq: number, before: Head, after: Head, chargedCredits: Credits): void => {
    heads.set(accountSeq, after);
    const known = writes.balances.get(accountSeq);
    writes.balances.set(accountSeq, {
      from: known?.from ?? before.chainSeq,
      head: after,
      chargedCredits: (known?.chargedCredits ?? 0) + chargedCredits,
    });
  };
  const spend = (meterSeq: number, day: number, credits: Credits): void => {
    writes.spends.push({ meter: meterSeq, day, credits });
    spent.set(meterSeq, [...(spent.get(meterSeq) ?? []), { day, credits }]);
  };
  const spentSince = (meterSeq: number, day: number): Credits =>
    (spent.get(meterSeq) ?? []).reduce((sum, one) => sum + (one.day >= day ? one.credits : 0), 0);

  const known = (mutation: PackedAdmit): AdmitResult | undefined => {
    const { accountSeq, idempotencyKey } = mutation;
    const before = idempotencyKey === null ? undefined : used.get(keyName(accountSeq, idempotencyKey));
    if (!before) return undefined;
    return isSameRequest(before.request, mutation)
      ? { kind: "replayed", record: before.record }
      : { kind: "idempotency_conflict" };
  };

  const admit = (mutation: PackedAdmit): AdmitResult => {
    const { accountSeq, keySeq, createdAtMs, reservedCredits, idempotencyKey } = mutation;
    const head = heads.get(accountSeq);
    if (!head) throw new MutationRejected(`there is no account ${accountSeq}`);
    const before = known(mutation);
    if (before) return before;
    const bound = bounds.get(keySeq);
    const meter = bound?.meter ?? null;
    const refusal = admissionError(mutation, head, expiryOf(bound, createdAtMs), () =>
      meter === null ? undefined : shortageOf(meter, createdAtMs, reservedCredits, spentSince),
    );
    if (refusal) return refusal;
    const shared = { generationSeq: mutation.seq, attemptN: null, atMs: createdAtMs, note: null };
    const held = chain(head, { ...shared, kind: "hold", credits: reservedCredits, from: "available", to: "held", progress: 1 });
    writes.generations.push({ mutation, held, epoch });
    for (const pin of mutation.pins ?? []) writes.pins.push({ seq: mutation.seq, pin });
    moved(accountSeq, head, headAfter(held, -mutation.seq), 0);
    if (meter && dayOf(createdAtMs) >= meter.fromDay) spend(meter.seq, dayOf(createdAtMs), reservedCredits);
    const record = admittedRecord(mutation);
    if (idempotencyKey !== null) used.set(keyName(accountSeq, idempotencyKey), { record, request: mutation });
    return { kind: "admitted", record };
  };

  const post = (accountSeq: number, head: Head, move: Transfer): Head => {
    const chained = chain(head, move);
    const seq = newTransferSeq();
    writes.transfers.push({ seq, accountSeq, previous: head.chainEnd, link: chained.link, hash: chained.hash, epoch });
    const after = headAfter(chained, seq);
    moved(accountSeq, head, after, move.kind === "capture" ? move.credits : 0);
    return after;
  };

  /** Requires that every changed or charged attempt exists or begins in this transition. @throws MutationRejected */
  const requireAttempts = ({ seq, attemptChanges, settlement }: PackedStep): void => {
    const prices = new Map<number, Credits>();
    const priceOf = (n: number): Credits => {
      const price = prices.get(n) ?? attempts.get(attemptName(seq, n))?.priceCredits;
      if (price === undefined) throw new MutationRejected(`generation ${seq} has no attempt ${n}`);
      return price;
    };
    for (const { n, begin, ...rest } of attemptChanges) {
      if (begin) prices.set(n, begin.priceCredits);
      else if (Object.keys(rest).length === 0) throw new MutationRejected(`the change of attempt ${n} changes nothing`);
      priceOf(n);
    }
    if (settlement?.kind !== "capture") return;
    const price = priceOf(settlement.n);
    if (price !== settlement.credits)
      throw new MutationRejected(`attempt ${settlement.n} was quoted ${price} credits and the capture is ${settlement.credits}`);
  };

  const end = (mutation: PackedStep, record: GenerationRecord, meter: { seq: number; fromDay: number } | null): void => {
    const { settlement, seq, atMs } = mutation;
    let head = heads.get(record.accountSeq);
    if (!settlement || !head) return;
    for (const move of settlementTransfers(record, settlement, atMs)) head = post(record.accountSeq, head, move);
    if (settlement.kind === "capture" && attempts.get(attemptName(seq, settlement.n))?.isDelivered !== true) {
      const isMarkedDelivered = mutation.attemptChanges.some(({ n, state }) => n === settlement.n && state === "delivered");
      const change: AttemptChange = { n: settlement.n, state: "delivered", watchUntilMs: null, endedAtMs: atMs };
      if (!isMarkedDelivered) writes.attempts.push({ seq, change, atMs });
    }
    writes.ended.push({ record, settlement });
    const day = dayOf(record.createdAtMs);
    const back = record.reservedCredits - (record.costCredits ?? 0);
    if (meter && back > 0 && day >= meter.fromDay) spend(meter.seq, day, -back);
  };

  const step = (mutation: PackedStep): TransitionResult => {
    const { seq, version } = mutation;
    const current = currentRows.get(seq);
    if (!current || current.record.completedAtMs !== null || current.version !== version - 1) return { kind: "stale" };
    if (minds && current.epoch !== epoch) return { kind: "stale" };
    const fault = snapshotFault(mutation);
    if (fault !== undefined) throw new MutationRejected(fault);
    requireAttempts(mutation);
    const head = mutation.settlement && heads.get(current.record.accountSeq);
    if (mutation.settlement && !head) throw new MutationRejected(`there is no account ${current.record.accountSeq}`);
    if (head && head.owedCredits > 0 && !settlesDebts) throw new DebtInTheWay();
    const record = recordAfter(current.record, mutation);
    writes.journal.push({
      seq,
      version,
      atMs: mutation.atMs,
      epoch,
      stateAfter: mutation.stateAfter,
      eventJson: mutation.eventJson,
    });
    for (const copy of mutation.pinned ?? []) writes.pinned.push({ seq, copy, atMs: mutation.atMs });
    for (const change of mutation.attemptChanges) writes.attempts.push({ seq, change, atMs: mutation.atMs });
    end(mutation, record, current.meter);
    if (
      !mutation.settlement &&
      (mutation.status !== undefined || mutation.message !== undefined || mutation.attempts !== undefined)
    )
      writes.changed.push(record);
    writes.snapshots.push(mutation);
    currentRows.set(seq, { ...current, record, version });
    return { kind: "stepped", record };
  };

  const decide = (mutation: BatchedMutation): MutationResult => {
    try {
      return mutation.mutation === "admit" ? admit(mutation) : step(mutation);
    } catch (fault) {
      // Nothing was recorded yet, because all rejections come first.
      if (fault instanceof MutationRejected) return { kind: "refused", reason: fault.message };
      throw fault;
    }
  };
  return { decide, writes };
};
