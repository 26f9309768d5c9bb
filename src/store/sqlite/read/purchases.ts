// Reads purchases, with what is taken back of each by refunds and by disputes.
import type { Database } from "bun:sqlite";
import type { PurchaseRow } from "../../../purchase.ts";
import type { Credits } from "../../../terms.ts";
import type { PurchaseReads } from "../../purchase-reads.ts";
import { schemaVersion } from "../migrate.ts";

const reversed = (kind: "refund" | "dispute"): string =>
  `(SELECT coalesce(sum(r.credits), 0) FROM reversal r WHERE r.payment_intent = p.payment_intent AND r.kind = '${kind}'
     AND r.state IN ('taken', 'lost'))`;
const PURCHASE = `SELECT p.id, a.id AS accountId, p.account_seq AS accountSeq, p.person_id AS personId, p.credits, p.provider, p.state,
  p.created_at_ms AS createdAtMs, p.expires_at_ms AS expiresAtMs, p.session_id AS sessionId, p.payment_intent AS paymentIntent, p.found,
  p.paid_at_ms AS paidAtMs, p.receipt, p.invoice_number AS invoiceNumber, p.invoice_url AS invoiceUrl,
  p.reversed_credits AS reversedCredits, ${reversed("refund")} AS refundedCredits, ${reversed("dispute")} AS disputedCredits
  FROM purchase p JOIN account a ON a.seq = p.account_seq`;

const BEFORE = "(?2 IS NULL OR p.seq < (SELECT seq FROM purchase WHERE id = ?2))";
const OF_ALL = `${PURCHASE} WHERE ?1 IS NULL AND ${BEFORE} ORDER BY p.seq DESC LIMIT ?3`;
const OF_ACCOUNT = `${PURCHASE} WHERE p.account_seq = (SELECT seq FROM account WHERE id = ?1) AND ${BEFORE} ORDER BY p.seq DESC LIMIT ?3`;
const OPEN = `${PURCHASE} WHERE p.state = 'open' AND p.asked_at_ms < ?1 ORDER BY p.asked_at_ms, p.seq LIMIT ?2`;
const MISMATCHED = `${PURCHASE} WHERE p.state = 'mismatched' AND p.created_at_ms >= ?1 ORDER BY p.created_at_ms DESC LIMIT ?2`;
const UNINVOICED = `${PURCHASE} WHERE p.state = 'paid' AND p.provider = 'stripe' AND p.invoice_url IS NULL AND p.paid_at_ms >= ?1
  ORDER BY p.asked_at_ms, p.seq LIMIT ?2`;
const OF_MOVEMENTS = `SELECT c.movement_seq AS seq, p.id FROM json_each(?1) j CROSS JOIN credit c ON c.movement_seq = j.value
  JOIN purchase_credit pc ON pc.credit_seq = c.seq JOIN purchase p ON p.seq = pc.purchase_seq`;

/** The step of the schema that brought these tables: a copy of before it is read as well, and has nothing in them. */
const SINCE = 5;

export const preparePurchaseReads = (db: Database): PurchaseReads => {
  const rows = <Row>(sql: string, ...values: (string | number | null)[]): Row[] =>
    schemaVersion(db) < SINCE ? [] : db.query<Row, (string | number | null)[]>(sql).all(...values);
  const purchases = (sql: string, ...values: (string | number | null)[]) => rows<PurchaseRow>(sql, ...values);
  return {
    purchase: async (id) => purchases(`${PURCHASE} WHERE p.id = ?1`, id)[0],
    purchases: async (accountId, beforeId, limit) =>
      purchases(accountId === null ? OF_ALL : OF_ACCOUNT, accountId, beforeId, limit),
    openPurchases: async (askedBeforeMs, limit) => purchases(OPEN, askedBeforeMs, limit),
    mismatchedPurchases: async (sinceMs, limit) => purchases(MISMATCHED, sinceMs, limit),
    uninvoicedPurchases: async (sinceMs, limit) => purchases(UNINVOICED, sinceMs, limit),
    purchasesOfMovements: async (seqs) =>
      new Map(rows<{ seq: number; id: string }>(OF_MOVEMENTS, JSON.stringify(seqs)).map(({ seq, id }) => [seq, id])),
    lowBalance: async (accountSeq) =>
      rows<{ credits: Credits }>("SELECT credits FROM low_balance WHERE account_seq = ?1", accountSeq)[0]?.credits ?? null,
  };
};
