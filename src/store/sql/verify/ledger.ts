// Invariants 1 to 4: conservation, holds, one settlement per generation, charge equals quote.
import { type Check, type Clause, clause } from "./check.ts";
import { PURCHASE_MONEY } from "./purchases.ts";

/** Credits that a transfer adds to an account, negative if it withdraws. */
const PUT = "CASE WHEN kind NOT IN ('topup', 'adjust') THEN 0 WHEN to_side = 'available' THEN credits ELSE -credits END";
/** The credits of a transfer if it has this kind. */
const creditsIf = (kind: string): string => `CASE WHEN kind = '${kind}' THEN credits ELSE 0 END`;
const PRICE = "CAST(r.value ->> 'priceCredits' AS bigint)";

/** 1. Recomputed from transfers only, which are chained by hash. Requested credits that an account did not have are its debt. */
const conservation: Check<Clause> = {
  invariant: 1,
  name: "conservation",
  clauses: [
    clause(
      "balance and charges differ from the sum of the transfers",
      `SELECT a.id AS account, b.available_credits + b.held_credits AS balance, b.charged_credits AS charged
       FROM account a JOIN balance b ON b.account_seq = a.seq LEFT JOIN (SELECT account_seq,
         sum(${PUT}) AS put, sum(${creditsIf("capture")}) AS taken FROM transfer_log GROUP BY account_seq) m ON m.account_seq = a.seq
       WHERE b.available_credits + b.held_credits <> coalesce(m.put - m.taken, 0) OR b.charged_credits <> coalesce(m.taken, 0)`,
    ),
    clause(
      "the incoming credits differ from the balances and charges",
      `SELECT CAST(i.put AS bigint) AS put, CAST(o.there AS bigint) AS there FROM (SELECT coalesce(sum(${PUT}), 0) AS put FROM transfer_log) i
         CROSS JOIN (SELECT coalesce(sum(available_credits + held_credits + charged_credits), 0) AS there FROM balance) o
       WHERE i.put <> o.there`,
    ),
    clause(
      "the account of the transfer is missing, or the account has no balance",
      `SELECT m.seq AS transfer, m.account_seq FROM transfer_log m LEFT JOIN account a ON a.seq = m.account_seq WHERE a.seq IS NULL
       UNION ALL SELECT NULL, a.seq FROM account a LEFT JOIN balance b ON b.account_seq = a.seq WHERE b.account_seq IS NULL`,
    ),
    clause(
      "the two entries of a transfer do not sum to zero",
      "SELECT transfer_seq, CAST(sum(credits) AS bigint) AS sum FROM transfer_entry GROUP BY transfer_seq HAVING sum(credits) <> 0 OR count(*) <> 2",
    ),
    clause(
      "the adjustment differs from its transfer",
      `SELECT c.seq AS credit, c.transfer_seq FROM balance_adjustment c LEFT JOIN transfer m ON m.seq = c.transfer_seq
       WHERE c.transfer_seq IS NOT NULL AND (m.account_seq, m.kind,
         CASE m.to_side WHEN 'available' THEN m.credits ELSE -m.credits END) IS DISTINCT FROM (c.account_seq, c.kind, c.transferred_credits)`,
    ),
    clause(
      "the transfer does not have exactly one adjustment",
      `SELECT m.seq AS transfer, m.kind, c.n AS credits FROM transfer m LEFT JOIN (SELECT transfer_seq, count(*) AS n FROM balance_adjustment
         WHERE transfer_seq IS NOT NULL GROUP BY transfer_seq) c ON c.transfer_seq = m.seq
       WHERE m.kind IN ('topup', 'adjust') AND c.n IS DISTINCT FROM 1`,
    ),
    ...PURCHASE_MONEY,
  ],
};

/** 2. The held credits equal the holds of open generations, and the holds without a settlement. */
const holds: Check<Clause> = {
  invariant: 2,
  name: "holds",
  clauses: [
    clause(
      "the held credits differ from the holds of the open generations",
      `SELECT a.id AS account, b.held_credits AS held, CAST(coalesce(g.reserved, 0) AS bigint) AS reserved, b.in_progress, coalesce(g.n, 0) AS open
     FROM account a JOIN balance b ON b.account_seq = a.seq LEFT JOIN (SELECT account_seq, sum(reserved_credits) AS reserved, count(*) AS n FROM generation
       WHERE completed_at_ms IS NULL GROUP BY account_seq) g ON g.account_seq = a.seq
     WHERE b.held_credits <> coalesce(g.reserved, 0) OR b.in_progress <> coalesce(g.n, 0) OR b.held_credits < 0
       OR b.available_credits < 0`,
    ),
    clause(
      "the held credits differ from the holds minus their settlements",
      `SELECT a.id AS account, b.held_credits AS held, CAST(coalesce(m.held, 0) AS bigint) AS from_transfers FROM account a
     JOIN balance b ON b.account_seq = a.seq LEFT JOIN (SELECT account_seq, 
       sum(CASE 'held' WHEN to_side THEN credits WHEN from_side THEN -credits ELSE 0 END) AS held FROM transfer_log GROUP BY account_seq) m ON m.account_seq = a.seq
     WHERE b.held_credits <> coalesce(m.held, 0)`,
    ),
    clause(
      "the counted spending of a key differs from its generations",
      `SELECT k.id AS key, x.day, CAST(x.metered AS bigint) AS metered, CAST(x.spent AS bigint) AS spent FROM (SELECT spend_limit_seq, day, sum(metered) AS metered, sum(spent) AS spent FROM (
         SELECT spend_limit_seq, day, credits AS metered, 0 AS spent FROM spend_by_day
         UNION ALL SELECT m.seq, g.created_at_ms / 86400000, 0, coalesce(g.cost_credits, g.reserved_credits) FROM generation g
           CROSS JOIN api_key_policy t CROSS JOIN spend_limit m
           WHERE EXISTS (SELECT 1 FROM spend_limit) AND t.key_seq = g.key_seq AND m.seq = t.spend_limit_seq
             AND g.created_at_ms >= m.from_day * 86400000) spending
       GROUP BY spend_limit_seq, day HAVING sum(metered) <> sum(spent)) x JOIN api_key k ON k.seq = x.spend_limit_seq`,
    ),
    clause(
      // An erasure removes the end user of an ended generation, whose counts remain.
      "the counted days of an end user differ from its generations",
      `SELECT a.id AS account, x.end_user_seq AS end_user, x.day, CAST(x.spent AS bigint) AS spent, CAST(x.held AS bigint) AS held,
         CAST(x.charged AS bigint) AS charged, CAST(x.ended AS bigint) AS ended
       FROM (SELECT end_user_seq, day, sum(spent) AS spent, sum(held) AS held, sum(charged) AS charged, sum(ended) AS ended FROM (
         SELECT end_user_seq, day, spent_credits AS spent, held_credits AS held, charged_credits AS charged, succeeded + failed AS ended
           FROM end_user_day
         UNION ALL SELECT end_user_seq, created_at_ms / 86400000, -coalesce(cost_credits, reserved_credits),
             CASE WHEN completed_at_ms IS NULL THEN -reserved_credits ELSE 0 END, 0, 0 FROM generation
           WHERE EXISTS (SELECT 1 FROM end_user) AND end_user_seq IS NOT NULL
         UNION ALL SELECT end_user_seq, completed_at_ms / 86400000, 0, 0, -cost_credits, -1 FROM generation
           WHERE EXISTS (SELECT 1 FROM end_user) AND end_user_seq IS NOT NULL AND completed_at_ms IS NOT NULL) counted
       GROUP BY end_user_seq, day) x JOIN end_user u ON u.seq = x.end_user_seq JOIN account a ON a.seq = u.account_seq
       WHERE x.held <> 0 OR x.spent < 0 OR x.charged < 0 OR x.ended < 0 OR (x.spent + x.charged + x.ended > 0 AND NOT EXISTS
         (SELECT 1 FROM generation e WHERE e.account_seq = u.account_seq AND e.erased_at_ms IS NOT NULL))`,
    ),
  ],
};

/**
 * 3. The hold is part of the generation. An ended generation has one capture and the release of the rest, or one release of all.
 */
const settledOnce: Check<Clause> = {
  invariant: 3,
  name: "settled once",
  clauses: [
    clause(
      "the generation does not have exactly one settlement of its whole hold, at its end",
      `SELECT g.id AS generation, g.status, coalesce(m.captures, 0) AS captures, coalesce(m.releases, 0) AS releases
     FROM generation g LEFT JOIN (SELECT generation_seq, count(*) FILTER (WHERE kind = 'capture') AS captures,
       count(*) FILTER (WHERE kind = 'release') AS releases, sum(${creditsIf("capture")}) AS captured, sum(${creditsIf("release")}) AS released
       FROM transfer WHERE generation_seq IS NOT NULL GROUP BY generation_seq) m ON m.generation_seq = g.seq
     WHERE CASE g.status
       WHEN 'succeeded' THEN m.captures IS DISTINCT FROM 1 OR m.captured <> g.cost_credits OR m.captured + m.released <> g.reserved_credits
         OR m.releases <> CASE WHEN g.reserved_credits > g.cost_credits THEN 1 ELSE 0 END
       WHEN 'failed' THEN m.captures IS DISTINCT FROM 0 OR m.releases <> 1 OR m.released <> g.reserved_credits
       ELSE coalesce(m.captures + m.releases, 0) <> 0 END`,
    ),
    clause(
      "the settlement precedes the hold",
      `SELECT g.id AS generation, s.kind FROM transfer s JOIN generation g ON g.seq = s.generation_seq
       WHERE s.transfer_no < g.hold_transfer_no`,
    ),
  ],
};

/**
 * 4. The charge is the price of the delivered attempt. Quote and hold are the lowest and the highest price of the frozen plan.
 */
const chargeIsQuote: Check<Clause> = {
  invariant: 4,
  name: "charge is the quote",
  clauses: [
    clause(
      "the cost differs from the price of the delivered attempt",
      `SELECT g.id AS generation, g.status, g.cost_credits AS cost, count(a.attempt_no) AS delivered, max(a.price_credits) AS price
     FROM generation g LEFT JOIN attempt a ON a.generation_seq = g.seq AND a.state = 'delivered' GROUP BY g.seq
     HAVING CASE g.status WHEN 'succeeded' THEN count(a.attempt_no) <> 1 OR g.cost_credits IS DISTINCT FROM max(a.price_credits)
         OR g.cost_credits > g.reserved_credits
       WHEN 'failed' THEN g.cost_credits IS DISTINCT FROM 0 OR count(a.attempt_no) <> 0
       ELSE g.cost_credits IS NOT NULL OR count(a.attempt_no) <> 0 END`,
    ),
    clause(
      "the capture does not belong to the delivered attempt",
      `SELECT g.id AS generation, m.attempt_no AS attempt, a.state FROM transfer m JOIN generation g ON g.seq = m.generation_seq
       LEFT JOIN attempt a ON a.generation_seq = m.generation_seq AND a.attempt_no = m.attempt_no
       WHERE m.kind = 'capture' AND (a.state IS DISTINCT FROM 'delivered' OR a.price_credits <> m.credits)`,
    ),
    clause(
      "quote and hold differ from the lowest and highest price of the plan",
      ({ elements }) => `SELECT g.id AS generation, g.quoted_credits AS quoted, g.reserved_credits AS reserved, p.least, p.most
       FROM generation g LEFT JOIN (SELECT s.seq, min(${PRICE}) AS least, max(${PRICE}) AS most
         FROM plan s CROSS JOIN ${elements("s.routes", "r")} GROUP BY s.seq) p ON p.seq = g.plan_seq
       WHERE p.least IS DISTINCT FROM g.quoted_credits OR p.most IS DISTINCT FROM g.reserved_credits`,
    ),
    clause(
      "a planned price exceeds the maximum cost",
      ({ elements }) => `SELECT g.id AS generation, g.max_cost_credits AS most, ${PRICE} AS price FROM generation g
       JOIN plan p ON p.seq = g.plan_seq CROSS JOIN ${elements("p.routes", "r")} WHERE ${PRICE} > g.max_cost_credits`,
    ),
    clause(
      "the price of the attempt differs from the plan",
      ({ elements }) => `SELECT a.ref AS attempt, a.route_id AS route, a.price_credits AS price FROM attempt a
     JOIN generation s ON s.seq = a.generation_seq LEFT JOIN plan p ON p.seq = s.plan_seq
     WHERE a.price_credits IS DISTINCT FROM (SELECT ${PRICE} FROM ${elements("p.routes", "r")}
       WHERE r.value ->> 'routeId' = a.route_id LIMIT 1)`,
    ),
  ],
};

export const LEDGER_CHECKS = [conservation, holds, settledOnce, chargeIsQuote] as const;
