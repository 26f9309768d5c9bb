// Queries of purchases with the credits that refunds and disputes reversed.

import type { PurchaseRow, UndecidedReversal } from "../../../domain/purchase-mutations.ts";
import { monthDayOf, type SpendAlert } from "../../../domain/spend-alert.ts";
import type { Credits } from "../../../domain/types.ts";
import type { PurchaseReads } from "../../purchase-reads.ts";
import type { Dialect } from "../dialect.ts";
import { daysOfMonth, SPEND_ALERT_COLUMNS, spentOn } from "../spend-alerts.ts";
import type { Query } from "../sql-program.ts";

type AdjustmentRow = { seq: number; isRepayment: number; owedCredits: Credits };

const reversed = (kind: "refund" | "dispute"): string =>
  `(SELECT CAST(coalesce(sum(r.credits), 0) AS bigint) FROM reversal r WHERE r.payment_intent = p.payment_intent AND r.kind = '${kind}'
     AND r.state IN ('taken', 'lost'))`;
const PURCHASE = `SELECT p.id, a.id AS "accountId", p.account_seq AS "accountSeq", p.user_id AS "userId", p.credits, p.provider, p.state,
  p.created_at_ms AS "createdAtMs", p.expires_at_ms AS "expiresAtMs", p.session_id AS "sessionId", p.payment_intent AS "paymentIntent", p.found,
  p.paid_at_ms AS "paidAtMs", p.receipt, p.invoice_number AS "invoiceNumber", p.invoice_url AS "invoiceUrl",
  p.reversed_credits AS "reversedCredits", ${reversed("refund")} AS "refundedCredits", ${reversed("dispute")} AS "disputedCredits"
  FROM purchase p JOIN account a ON a.seq = p.account_seq`;

const BEFORE = "(CAST(?2 AS text) IS NULL OR p.seq < (SELECT seq FROM purchase WHERE id = CAST(?2 AS text)))";
const OF_ALL = `${PURCHASE} WHERE CAST(?1 AS text) IS NULL AND ${BEFORE} ORDER BY p.seq DESC LIMIT ?3`;
const OF_ACCOUNT = `${PURCHASE} WHERE p.account_seq = (SELECT seq FROM account WHERE id = ?1) AND ${BEFORE} ORDER BY p.seq DESC LIMIT ?3`;
const OPEN = `${PURCHASE} WHERE p.state = 'open' AND p.checked_at_ms < ?1 ORDER BY p.checked_at_ms, p.seq LIMIT ?2`;
const COUNT_OPEN = "SELECT count(*) AS open FROM purchase WHERE account_seq = ?1 AND state = 'open' AND expires_at_ms > ?2";
const MISMATCHED = `${PURCHASE} WHERE p.state = 'mismatched' AND p.created_at_ms >= ?1 ORDER BY p.created_at_ms DESC, p.seq DESC LIMIT ?2`;
const UNINVOICED = `${PURCHASE} WHERE p.state = 'paid' AND p.provider = 'stripe' AND p.invoice_url IS NULL AND p.paid_at_ms >= ?1
  ORDER BY p.checked_at_ms, p.seq LIMIT ?2`;
const UNDECIDED = `SELECT f.id, f.kind, f.payment_intent AS "paymentIntent", f.amount, f.currency, f.state, f.at_ms AS "atMs",
  p.id AS "purchaseId", a.id AS "accountId", p.credits AS "boughtCredits", p.reversed_credits AS "reversedCredits"
  FROM foreign_reversal f JOIN purchase p ON p.payment_intent = f.payment_intent AND p.state = 'paid' JOIN account a ON a.seq = p.account_seq
  WHERE f.state IN ('taken', 'lost') AND (f.decided_amount IS NULL OR f.decided_amount < f.amount) ORDER BY f.id LIMIT ?1`;
const BY_ID = `${PURCHASE} WHERE p.id = ?1`;
const ofTransfers = ({ items, json }: Dialect): string =>
  `SELECT c.transfer_seq AS seq, p.id FROM ${items(json("CAST(?1 AS text)"), "j")} JOIN balance_adjustment c ON c.transfer_seq = CAST(j.value AS bigint)
   JOIN purchase_adjustment pc ON pc.adjustment_seq = c.seq JOIN purchase p ON p.seq = pc.purchase_seq`;

// A debt is what adjustments requested and could not transfer, minus its repayments. The accounts that ever had one are few, and only
// their adjustments are summed up.
const adjustmentsIn = ({ items, json }: Dialect): string =>
  `SELECT c.transfer_seq AS seq, CASE WHEN y.adjustment_seq IS NULL THEN 0 ELSE 1 END AS "isRepayment",
     CASE WHEN b.owed_credits = 0 AND NOT EXISTS (SELECT 1 FROM debt_repayment WHERE account_seq = c.account_seq) THEN 0 ELSE
       CAST((SELECT coalesce(sum(transferred_credits - requested_credits), 0) FROM balance_adjustment
         WHERE account_seq = c.account_seq AND seq <= c.seq)
       - (SELECT coalesce(sum(credits), 0) FROM debt_repayment WHERE account_seq = c.account_seq AND adjustment_seq <= c.seq) AS bigint)
     END AS "owedCredits"
   FROM ${items(json("CAST(?1 AS text)"), "j")} JOIN balance_adjustment c ON c.transfer_seq = CAST(j.value AS bigint)
   JOIN balance b ON b.account_seq = c.account_seq LEFT JOIN debt_repayment y ON y.adjustment_seq = c.seq`;

const SPEND_ALERT = `SELECT ${SPEND_ALERT_COLUMNS} FROM spend_alert s WHERE s.account_seq = ?1`;

export const purchaseReads = (query: Query, dialect: Dialect): PurchaseReads => {
  const [transfers, adjustments, spent] = [ofTransfers(dialect), adjustmentsIn(dialect), spentOn(dialect)];
  return {
    purchase: async (id) => (await query<PurchaseRow>(BY_ID, id))[0],
    purchases: (accountId, beforeId, limit) =>
      query<PurchaseRow>(accountId === null ? OF_ALL : OF_ACCOUNT, accountId, beforeId, limit),
    openPurchases: (checkedBeforeMs, limit) => query<PurchaseRow>(OPEN, checkedBeforeMs, limit),
    countOpenPurchases: async (accountSeq, nowMs) => (await query<{ open: number }>(COUNT_OPEN, accountSeq, nowMs))[0]?.open ?? 0,
    mismatchedPurchases: (sinceMs, limit) => query<PurchaseRow>(MISMATCHED, sinceMs, limit),
    undecidedReversals: (limit) => query<UndecidedReversal>(UNDECIDED, limit),
    uninvoicedPurchases: (sinceMs, limit) => query<PurchaseRow>(UNINVOICED, sinceMs, limit),
    purchasesOfTransfers: async (seqs) =>
      new Map((await query<{ seq: number; id: string }>(transfers, JSON.stringify(seqs))).map(({ seq, id }) => [seq, id])),
    adjustmentsOfTransfers: async (seqs) => {
      if (seqs.length === 0) return new Map();
      const rows = await query<AdjustmentRow>(adjustments, JSON.stringify(seqs));
      return new Map(rows.map(({ seq, isRepayment, owedCredits }) => [seq, { isRepayment: isRepayment === 1, owedCredits }]));
    },
    lowBalance: async (accountSeq) =>
      (await query<{ credits: Credits }>("SELECT credits FROM balance_alert WHERE account_seq = ?1", accountSeq))[0]?.credits ??
      null,
    spendAlert: async (accountSeq) => (await query<SpendAlert>(SPEND_ALERT, accountSeq))[0] ?? null,
    monthSpend: async (accountSeq, atMs) =>
      (await query<{ credits: Credits }>(spent, accountSeq, JSON.stringify(daysOfMonth(monthDayOf(atMs)))))[0]?.credits ?? 0,
  };
};
