// Clauses of invariant 1 for debts and purchases.
//
// A payment is credited once, and its reversals never exceed it.
import { clause } from "./check.ts";

const ONCE_PAID = "CASE WHEN p.state = 'paid' THEN 1 ELSE 0 END";

const OWED = `SELECT a.id AS account, b.owed_credits AS owed FROM account a JOIN balance b ON b.account_seq = a.seq LEFT JOIN (SELECT account_seq,
  sum(transferred_credits - requested_credits) AS owed FROM balance_adjustment GROUP BY account_seq) c ON c.account_seq = a.seq`;

/** Part of conservation: debts, and the credits of purchases less their reversals. */
export const PURCHASE_MONEY = [
  clause(
    "the debt differs from the untransferred adjustments minus the repayments",
    `${OWED} LEFT JOIN (SELECT account_seq, sum(credits) AS credits FROM debt_repayment GROUP BY account_seq) s ON s.account_seq = a.seq
     WHERE b.owed_credits <> coalesce(c.owed, 0) - coalesce(s.credits, 0)`,
  ),
  clause(
    "a paid purchase does not have exactly one top-up of its credits",
    `SELECT p.id AS purchase, p.state, count(c.seq) AS topups, CAST(sum(c.transferred_credits) AS bigint) AS credits FROM purchase p
     LEFT JOIN purchase_adjustment l ON l.purchase_seq = p.seq AND l.reason = 'paid'
     LEFT JOIN balance_adjustment c ON c.seq = l.adjustment_seq AND c.kind = 'topup' AND c.account_seq = p.account_seq AND c.transferred_credits = p.credits
     GROUP BY p.seq HAVING count(l.adjustment_seq) <> ${ONCE_PAID} OR count(c.seq) <> ${ONCE_PAID}`,
  ),
  clause(
    "the reversed credits of a purchase differ from its adjustments",
    `SELECT p.id AS purchase, p.reversed_credits AS reversed, CAST(coalesce(l.credits, 0) AS bigint) AS credited FROM purchase p
     LEFT JOIN (SELECT l.purchase_seq, -sum(c.requested_credits) AS credits,
         count(*) FILTER (WHERE c.kind <> 'adjust' OR (c.requested_credits < 0) <> (l.reason = 'taken')) AS strange FROM purchase_adjustment l JOIN balance_adjustment c ON c.seq = l.adjustment_seq WHERE l.reason <> 'paid' GROUP BY l.purchase_seq) l
       ON l.purchase_seq = p.seq
     WHERE p.reversed_credits <> coalesce(l.credits, 0) OR l.strange > 0 OR p.reversed_credits NOT BETWEEN 0 AND p.credits`,
  ),
  clause(
    "the reversed credits of a purchase differ from its refunds and disputes",
    `SELECT p.id AS purchase, p.reversed_credits AS reversed, CAST(coalesce(r.credits, 0) AS bigint) AS due FROM purchase p
     LEFT JOIN (SELECT payment_intent, sum(credits) AS credits FROM reversal WHERE state IN ('taken', 'lost') GROUP BY payment_intent) r
       ON r.payment_intent = p.payment_intent
     WHERE p.state = 'paid' AND p.reversed_credits <> CASE WHEN r.credits > p.credits THEN p.credits ELSE coalesce(r.credits, 0) END`,
  ),
  clause(
    "an adjustment of a purchase belongs to another account",
    `SELECT p.id AS purchase, c.seq AS credit FROM purchase_adjustment l JOIN purchase p ON p.seq = l.purchase_seq
     JOIN balance_adjustment c ON c.seq = l.adjustment_seq WHERE c.account_seq <> p.account_seq`,
  ),
  clause(
    "the debt repayment differs from its adjustment",
    `SELECT s.adjustment_seq AS credit, s.credits FROM debt_repayment s LEFT JOIN balance_adjustment c ON c.seq = s.adjustment_seq
     WHERE (c.account_seq, c.kind, c.transferred_credits) IS DISTINCT FROM (s.account_seq, 'adjust', -s.credits)`,
  ),
  clause(
    "the account has a debt and available credits",
    `SELECT a.id AS account, b.owed_credits AS owed, b.available_credits AS available FROM balance b JOIN account a ON a.seq = b.account_seq
     WHERE b.owed_credits > 0 AND b.available_credits > 0`,
  ),
  clause(
    "the decided credits of a refund or dispute are not reversed",
    `SELECT f.id AS reversal, f.decided_credits AS decided, r.credits FROM foreign_reversal f LEFT JOIN reversal r ON r.id = f.id
     WHERE f.decided_credits > 0 AND (r.payment_intent, r.credits, r.state) IS DISTINCT FROM (f.payment_intent, f.decided_credits, f.state)`,
  ),
  clause(
    "receipt numbers do not start at 1 or have a gap",
    "SELECT count(receipt) AS receipts, max(receipt) AS last FROM purchase HAVING coalesce(max(receipt), 0) <> count(receipt)",
  ),
] as const;
