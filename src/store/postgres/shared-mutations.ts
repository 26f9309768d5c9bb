// Connects the mutations that both drivers share with the ledger and usage marks of PostgreSQL.

import type { AdminMutation, AdminResult, MutationResult, RollUpUsage } from "../../domain/mutations.ts";
import { isPurchaseMutation, type PurchaseMutation } from "../../domain/purchase-mutations.ts";
import type { SpendReached } from "../../domain/spend-alert.ts";
import type { AttemptChange } from "../../domain/transition.ts";
import { isUploadMutation, type UploadMutation } from "../../domain/upload-mutations.ts";
import { attemptWrites } from "../decide/attempt-writes.ts";
import { prepareAdminMutations } from "../sql/admin-mutations.ts";
import { prepareCredit } from "../sql/balance-adjustments.ts";
import { prepareLowBalance, reportingLowBalance } from "../sql/low-balance.ts";
import { preparePurchases } from "../sql/purchases.ts";
import { prepareReversals } from "../sql/reversals.ts";
import { prepareSpendAlerts } from "../sql/spend-alerts.ts";
import { all, change, first, type SqlProgram } from "../sql/sql-program.ts";
import { prepareUploads } from "../sql/uploads.ts";
import { prepareUsage } from "../sql/usage.ts";
import { prepareAddEvent } from "../sql/webhooks.ts";
import type { DecideBatchDeps } from "./decide-batch.ts";
import { changedAttempts } from "./flush-batch.ts";
import { createLedger } from "./ledger.ts";
import { POSTGRES } from "./sql-program.ts";
import { UPDATE_ATTEMPTS } from "./statements.ts";

/** Condition on `transfer p`: it is not rolled up yet. The lowest mark excludes most transfers quickly. */
export const NOT_ADDED_UP = `p.seq > coalesce((SELECT min(up_to_seq) FROM usage_progress WHERE is_done = 0), 0)
  AND EXISTS (SELECT 1 FROM usage_progress m WHERE m.epoch = p.epoch AND m.is_done = 0 AND p.seq > m.up_to_seq)`;

/** Counts at most a few rounds of the roll-up. */
export const USAGE_BEHIND = `SELECT count(*) AS behind FROM (SELECT 1 FROM transfer p WHERE ${NOT_ADDED_UP} LIMIT 10000) waiting`;

/** An ended owner with transfers that are not rolled up; the lock excludes other nodes meanwhile. */
const LEFT_BEHIND = `SELECT m.epoch FROM usage_progress m JOIN node o ON o.epoch = m.epoch WHERE m.is_done = 0 AND o.ended_at_ms IS NOT NULL
  ORDER BY m.epoch LIMIT 1 FOR NO KEY UPDATE OF m SKIP LOCKED`;

const SPEND_ALERTS = prepareSpendAlerts(POSTGRES);

const usageOf = (epoch: number) =>
  prepareUsage(
    POSTGRES,
    {
      select: `SELECT up_to_seq AS "upTo" FROM usage_progress WHERE epoch = ${epoch} FOR NO KEY UPDATE`,
      set: `UPDATE usage_progress SET up_to_seq = ?1 WHERE epoch = ${epoch}`,
      where: `p.epoch = ${epoch}`,
    },
    SPEND_ALERTS,
  );

const spendReachedIn = (reported: AdminResult): readonly SpendReached[] =>
  reported.kind === "done" ? (reported.spendReached ?? []) : [];

/**
 * Rolls up the transfers of this owner, then those of an ended one. @param passed Returns the number up to which its transfers are
 * written.
 */
const prepareRollUp = (epoch: number, passed: () => number) => {
  const own = usageOf(epoch);
  return function* (mutation: RollUpUsage): SqlProgram<AdminResult> {
    const before = passed();
    const reported = yield* own(mutation);
    const upTo = reported.kind === "done" ? (reported.seq ?? 0) : 0;
    // Later transfers have higher numbers. The mark of an idle owner advances, so that other nodes do not scan from an old
    // position.
    yield* change(
      `UPDATE usage_progress m SET up_to_seq = ?2 WHERE m.epoch = ?1 AND m.up_to_seq < ?2
        AND NOT EXISTS (SELECT 1 FROM transfer p WHERE p.epoch = ?1 AND p.seq > m.up_to_seq)`,
      ...[epoch, Math.max(before, upTo)],
    );
    const left = yield* first<{ epoch: number }>(LEFT_BEHIND);
    if (!left) return reported;
    const added = yield* usageOf(left.epoch)(mutation);
    const rest = yield* first(
      "SELECT 1 AS more FROM transfer p JOIN usage_progress m ON m.epoch = p.epoch WHERE m.epoch = ?1 AND p.seq > m.up_to_seq LIMIT 1",
      left.epoch,
    );
    if (!rest) yield* change("UPDATE usage_progress SET is_done = 1 WHERE epoch = ?1", left.epoch);
    const spendReached = [...spendReachedIn(reported), ...spendReachedIn(added)];
    return added.kind === "done" && spendReached.length > 0 ? { ...added, spendReached } : added;
  };
};

const changeAttempt = function* (seq: number, change: AttemptChange, atMs: number): SqlProgram<void> {
  const rows = changedAttempts([{ seq, row: attemptWrites(change, atMs) }]);
  yield* all(UPDATE_ATTEMPTS, JSON.stringify(rows), rows.length);
};

export type SharedMutationsDeps = Pick<DecideBatchDeps, "epoch" | "newTransferSeq" | "newDeliverySeq" | "lowBalanceCredits"> & {
  /** Returns the number up to which the transfers of this owner are written. */
  passed: () => number;
};

export const createSharedMutations = (deps: SharedMutationsDeps) => {
  const { epoch, newTransferSeq, newDeliverySeq, passed } = deps;
  const webhooks = { epoch, newDeliverySeq, endpointsChanged: () => undefined };
  const addEvent = prepareAddEvent(webhooks);
  const money = createLedger(epoch, newTransferSeq);
  // Nothing is cached between two batches.
  const thresholds = { defaultCredits: deps.lowBalanceCredits, thresholdsChanged: () => undefined };
  const lowBalances = prepareLowBalance(money, { ...thresholds, addEvent });
  const crediting = prepareCredit(money, lowBalances);
  const reversals = prepareReversals(POSTGRES, crediting);
  const { setThreshold } = lowBalances;
  const purchases = preparePurchases(POSTGRES, {
    ...{ crediting, reversals, addEvent, setThreshold },
    setSpendAlert: SPEND_ALERTS.setAmount,
  });
  const admin = prepareAdminMutations({
    ...{ dialect: POSTGRES, crediting, reversals, changeAttempt },
    rollUpUsage: prepareRollUp(epoch, passed),
    notAddedUp: NOT_ADDED_UP,
    // No keys are cached between two batches.
    keysChanged: () => undefined,
    endUsersChanged: () => undefined,
    webhooks,
  });
  const uploads = prepareUploads(POSTGRES);
  return {
    other: (mutation: AdminMutation | PurchaseMutation | UploadMutation): SqlProgram<MutationResult> => {
      if (isUploadMutation(mutation)) return uploads(mutation);
      return reportingLowBalance(lowBalances, isPurchaseMutation(mutation) ? purchases(mutation) : admin(mutation));
    },
    /** Repays a debt from available credits. @returns the repaid credits. */
    settleDebt: crediting.settle,
  };
};
