// Decides the mutations of a group in memory over locked rows and collects their writes.

import type { LowBalance } from "../../domain/low-balance.ts";
import type { AdmitResult, MutationResult } from "../../domain/mutations.ts";
import { eventsOf, statusVersionOf, type TransitionResult } from "../../domain/transition.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import type { WebhookEvent } from "../../domain/webhooks.ts";
import { type AdmissionRows, decideAdmission } from "../decide/admission.ts";
import { deliveriesOf, lowBalanceEvent, pendingOf } from "../decide/deliveries.ts";
import { decideTransition, type TransitionRows } from "../decide/transition.ts";
import type { EndUserHold, EndUserSettlement } from "../sql/end-users.ts";
import type { Spend } from "../sql/key-policy.ts";
import { chain, type Head, headAfter, type Transfer } from "../sql/ledger.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import type { PackedAdmit, PackedStep } from "../sql/serialized-mutations.ts";
import { emptyWrites, type Writes } from "./flush-batch.ts";
import { attemptName, type BatchedMutation, endUserName, keyName, type Loaded } from "./load-batch.ts";

export type DecideBatchDeps = {
  /** Epoch of this opening, part of every row that transfers credits or stores an event. */
  epoch: number;
  /** Returns the next transfer number. */
  newTransferSeq: () => number;
  /** Returns the next row number of a webhook delivery. */
  newDeliverySeq: (atMs: number) => number;
  /** Threshold of low balances of accounts without their own; 0: never. */
  lowBalanceCredits: Credits;
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
 * Decides mutations in order, at most one of each generation; each includes the effects of earlier ones on its account. @param settlesDebts Whether the caller repays debts
 * after the writes.
 * @throws DebtInTheWay if it does not.
 */
export const createBatchDecider = (
  loaded: Loaded,
  { epoch, newTransferSeq, newDeliverySeq, lowBalanceCredits, minds }: DecideBatchDeps,
  settlesDebts: boolean,
) => {
  const { heads, submissions, generations, attempts, bounds, spent, storedFiles, endUsers, endUserSpent, alerts } = loaded;
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
  const spend = (change: Spend | null): void => {
    if (!change) return;
    writes.spends.push(change);
    spent.set(change.meterSeq, [...(spent.get(change.meterSeq) ?? []), change]);
  };
  const countEndUser = (endUserSeq: number, change: { day: number; credits: Credits }): void => {
    endUserSpent.get(endUserSeq)?.push(change) ?? endUserSpent.set(endUserSeq, [change]);
  };
  /** The number of an end user that the account has not named before is unknown until the group is written. */
  const holdForEndUser = (accountSeq: number, createdAtMs: number, hold: EndUserHold | null): void => {
    if (!hold) return;
    writes.endUserHolds.push({ accountSeq, createdAtMs, hold });
    const endUser = endUsers.get(endUserName(accountSeq, hold.endUser));
    if (endUser) countEndUser(endUser.seq, hold);
  };
  const settleForEndUser = (settlement: EndUserSettlement | null): void => {
    if (!settlement) return;
    writes.endUserSettlements.push(settlement);
    countEndUser(settlement.endUserSeq, { day: settlement.submittedDay, credits: -settlement.releasedCredits });
  };
  const post = (accountSeq: number, head: Head, move: Transfer): Head => {
    const chained = chain(head, move);
    const seq = newTransferSeq();
    writes.transfers.push({ seq, accountSeq, previous: head.chainEnd, link: chained.link, hash: chained.hash, epoch });
    const after = headAfter(chained, seq);
    moved(accountSeq, head, after, move.kind === "capture" ? move.credits : 0);
    return after;
  };

  const spentSince: AdmissionRows["spentSince"] = (meterSeq, day) =>
    (spent.get(meterSeq) ?? []).reduce((sum, one) => sum + (one.day >= day ? one.credits : 0), 0);
  const endUserSpentSince: AdmissionRows["endUserSpentSince"] = (endUserSeq, day) =>
    (endUserSpent.get(endUserSeq) ?? []).reduce((sum, one) => sum + (one.day >= day ? one.credits : 0), 0);
  const thresholdOf = (accountSeq: number): Credits => alerts.get(accountSeq)?.credits ?? lowBalanceCredits;
  const lowBalanceOf = ({ accountSeq, createdAtMs }: PackedAdmit, held: Head): LowBalance => {
    const event = lowBalanceEvent(accountSeq, held, createdAtMs);
    const added = deliveriesOf(event, alerts.get(accountSeq)?.subscribers ?? [], () => newDeliverySeq(createdAtMs));
    for (const delivery of added) writes.deliveries.push({ delivery, epoch });
    const { availableCredits } = held;
    return { accountSeq, availableCredits, thresholdCredits: thresholdOf(accountSeq), deliveries: added.map(pendingOf) };
  };
  const admissionState = ({ accountSeq, keySeq, idempotencyKey, labels }: PackedAdmit): AdmissionRows => ({
    head: heads.get(accountSeq),
    known: idempotencyKey === null ? undefined : submissions.get(keyName(accountSeq, idempotencyKey)),
    bound: bounds.get(keySeq),
    spentSince,
    endUser: typeof labels?.endUser === "string" ? endUsers.get(endUserName(accountSeq, labels.endUser)) : undefined,
    endUserSpentSince,
    thresholdCredits: thresholdOf(accountSeq),
    isFileStored: (fileSeq) => storedFiles.has(fileSeq),
  });
  const admit = (mutation: PackedAdmit): AdmitResult => {
    const { seq, accountSeq, idempotencyKey } = mutation;
    const { result, writes: decided } = decideAdmission(mutation, admissionState(mutation));
    if (!decided) return result;
    const { held } = decided;
    writes.generations.push({ mutation, held, epoch });
    for (const pin of mutation.pins ?? []) writes.pins.push({ seq, pin });
    const { files } = mutation;
    for (const file of files?.inputs ?? [])
      writes.files.push({ seq, file, atMs: mutation.createdAtMs, expireAtMs: files?.expireAtMs ?? 0 });
    if (mutation.webhookUrl !== undefined) writes.webhookUrls.push({ seq, url: mutation.webhookUrl });
    const after = headAfter(held, -seq);
    moved(accountSeq, held.head, after, 0);
    spend(decided.spend);
    holdForEndUser(accountSeq, mutation.createdAtMs, decided.endUserHold);
    if (idempotencyKey !== null)
      submissions.set(keyName(accountSeq, idempotencyKey), {
        record: result.record,
        request: { body: mutation.body, fingerprint: null },
      });
    return decided.makesBalanceLow ? { ...result, lowBalance: lowBalanceOf(mutation, after) } : result;
  };

  const transitionState = ({ seq, settlement }: PackedStep): TransitionRows => {
    const current = generations.get(seq);
    return {
      generation: current,
      isOwned: !minds || current?.epoch === epoch,
      head: settlement && current && heads.get(current.record.accountSeq),
      captured: settlement?.kind === "capture" ? attempts.get(attemptName(seq, settlement.n)) : undefined,
      meterOf: () => current?.meter ?? null,
      endUserSeq: current?.endUserSeq ?? null,
    };
  };
  const addToOutbox = (mutation: PackedStep, { accountSeq }: GenerationRecord, type: WebhookEvent) => {
    const { seq, atMs } = mutation;
    const { subscribers, webhookUrl: url } = generations.get(seq) ?? { subscribers: [], webhookUrl: null };
    const event = { accountSeq, generationSeq: seq, data: null, sequence: statusVersionOf(mutation), type, atMs, url };
    const added = deliveriesOf(event, subscribers, () => newDeliverySeq(atMs));
    for (const delivery of added) writes.deliveries.push({ delivery, epoch });
    return added.map(pendingOf);
  };
  const step = (mutation: PackedStep): TransitionResult => {
    const { seq, atMs, settlement } = mutation;
    const state = transitionState(mutation);
    const { result, writes: decided } = decideTransition(mutation, state);
    if (!decided) return result;
    if (decided.repaysDebt && !settlesDebts) throw new DebtInTheWay();
    const { record } = decided;
    for (const { version, event } of eventsOf(mutation.version, mutation.earlier, mutation))
      writes.journal.push({ seq, version, atMs, epoch, stateAfter: event.stateAfter, eventJson: event.eventJson });
    for (const copy of mutation.pinned ?? []) writes.pinned.push({ seq, copy, atMs });
    for (const row of decided.attempts) writes.attempts.push({ seq, row });
    let head = state.head;
    for (const move of decided.transfers) if (head) head = post(record.accountSeq, head, move);
    if (settlement) writes.ended.push({ record, settlement });
    if (decided.isOpenRecordChanged) writes.changed.push(record);
    spend(decided.spend);
    settleForEndUser(decided.endUserSettlement);
    writes.snapshots.push(mutation);
    const deliveries = decided.event === null ? [] : addToOutbox(mutation, record, decided.event);
    return deliveries.length === 0 ? result : { ...result, deliveries };
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
