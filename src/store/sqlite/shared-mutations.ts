// Connects the mutations that both drivers share with the ledger, attempts and limits of SQLite.

import type { AdminMutation, MutationResult } from "../../domain/mutations.ts";
import { isPurchaseMutation, type PurchaseMutation } from "../../domain/purchase-mutations.ts";

import { isUploadMutation, type UploadMutation } from "../../domain/upload-mutations.ts";
import { attemptWrites } from "../decide/attempt-writes.ts";
import { prepareAdminMutations } from "../sql/admin-mutations.ts";
import { prepareCredit } from "../sql/balance-adjustments.ts";
import type { RequestedTransfer } from "../sql/ledger.ts";
import { prepareLowBalance, reportingLowBalance } from "../sql/low-balance.ts";
import { preparePurchases } from "../sql/purchases.ts";
import { prepareReversals } from "../sql/reversals.ts";
import { prepareSpendAlerts } from "../sql/spend-alerts.ts";
import type { SqlProgram } from "../sql/sql-program.ts";
import { prepareUploads } from "../sql/uploads.ts";
import { prepareUsage } from "../sql/usage.ts";
import { prepareAddEvent } from "../sql/webhooks.ts";
import type { Attempts } from "./attempt.ts";
import type { BalanceAlerts } from "./balance-alerts.ts";
import type { EndUserRows } from "./end-users.ts";
import type { Limits } from "./key-limits.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import { known, SQLITE } from "./sql-program.ts";

/** Transfers are numbered in commit order, so one mark covers all of them. */
const SELECT_MARK = "SELECT CAST(value AS bigint) AS \"upTo\" FROM meta WHERE name = 'usage_up_to'";
const SET_MARK =
  "INSERT INTO meta VALUES ('usage_up_to', CAST(?1 AS text)) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

type CreditingParts = { money: Ledger; alerts: BalanceAlerts; outbox: Outbox };

/** The ledger for SQL programs, and the low balances that they cause. */
export const prepareCrediting = ({ money, alerts, outbox }: CreditingParts) => {
  const webhooks = { epoch: outbox.epoch, newDeliverySeq: outbox.newSeq, endpointsChanged: outbox.forget };
  const addEvent = prepareAddEvent(webhooks);
  const transfers: RequestedTransfer = {
    head: (accountSeq) => known(money.head(accountSeq)),
    post: (accountSeq, head, move) => known(money.post(accountSeq, head, move)),
    owe: (accountSeq, head, credits) => known(money.owe(accountSeq, head, credits)),
  };
  const lowBalances = prepareLowBalance(transfers, {
    ...{ defaultCredits: alerts.defaultCredits, addEvent },
    thresholdsChanged: alerts.forget,
  });
  return { webhooks, addEvent, lowBalances, crediting: prepareCredit(transfers, lowBalances) };
};

type SharedMutationsDeps = { attempts: Attempts; limits: Limits; endUsers: EndUserRows };

export const prepareSharedMutations = (
  { webhooks, addEvent, lowBalances, crediting }: ReturnType<typeof prepareCrediting>,
  { attempts, limits, endUsers }: SharedMutationsDeps,
) => {
  const reversals = prepareReversals(SQLITE, crediting);
  const { setThreshold } = lowBalances;
  const spendAlerts = prepareSpendAlerts(SQLITE);
  const purchases = preparePurchases(SQLITE, {
    ...{ crediting, reversals, addEvent, setThreshold },
    setSpendAlert: spendAlerts.setAmount,
  });
  const admin = prepareAdminMutations({
    dialect: SQLITE,
    ...{ crediting, reversals },
    changeAttempt: (seq, change, atMs) => known(attempts.write(seq, attemptWrites(change, atMs))),
    rollUpUsage: prepareUsage(SQLITE, { select: SELECT_MARK, set: SET_MARK, where: "true" }, spendAlerts),
    notAddedUp: `p.seq > coalesce((${SELECT_MARK}), 0)`,
    keysChanged: () => limits.forget(),
    endUsersChanged: () => endUsers.forget(),
    webhooks,
  });
  const uploads = prepareUploads(SQLITE);
  return (mutation: AdminMutation | PurchaseMutation | UploadMutation): SqlProgram<MutationResult> => {
    if (isUploadMutation(mutation)) return uploads(mutation);
    return reportingLowBalance(lowBalances, isPurchaseMutation(mutation) ? purchases(mutation) : admin(mutation));
  };
};
