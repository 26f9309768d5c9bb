// Invariants 1 to 4: credits are conserved, holds add up, each generation is settled once, the charge is the quote.
import { brokenChains } from "./chain.ts";
import { type Check, check, rowsOf } from "./check.ts";

/** 1. Recomputed from movements only, which are chained by hash; what was asked and not there to take is owed. */
const conservation: Check = {
  invariant: 1,
  name: "conservation",
  *offending(seen) {
    yield* brokenChains(seen);
    yield* rowsOf(
      seen,
      "balance and charges are not what the movements add up to",
      `SELECT a.id AS account, a.available_credits + a.held_credits AS balance, a.charged_credits AS charged
       FROM account a LEFT JOIN (SELECT account_seq,
         sum(CASE WHEN kind IN ('topup', 'adjust') THEN iif(to_side = 'available', credits, -credits) ELSE 0 END) AS put,
         sum(iif(kind = 'capture', credits, 0)) AS taken FROM movement GROUP BY account_seq) m ON m.account_seq = a.seq
       WHERE a.available_credits + a.held_credits <> coalesce(m.put - m.taken, 0) OR a.charged_credits <> coalesce(m.taken, 0)`,
    );
    yield* rowsOf(
      seen,
      "the two entries of a movement do not add up to zero",
      "SELECT movement_seq, sum(credits) AS sum FROM entry GROUP BY movement_seq HAVING sum(credits) <> 0 OR count(*) <> 2",
    );
    yield* rowsOf(
      seen,
      "what is owed is not what was asked and not there to take",
      `SELECT a.id AS account, a.owed_credits AS owed FROM account a LEFT JOIN (SELECT account_seq,
         sum(moved_credits - asked_credits) AS owed FROM credit GROUP BY account_seq) c ON c.account_seq = a.seq
       WHERE a.owed_credits <> coalesce(c.owed, 0)`,
    );
    yield* rowsOf(
      seen,
      "a credit is not the movement it names",
      `SELECT c.seq AS credit, c.movement_seq FROM credit c LEFT JOIN movement m ON m.seq = c.movement_seq
       WHERE c.movement_seq IS NOT NULL AND (m.account_seq, m.kind, iif(m.to_side = 'available', m.credits, -m.credits))
         IS NOT (c.account_seq, c.kind, c.moved_credits)`,
    );
  },
};

/** 2. What is held is what the generations that have not ended reserved, and what no settlement has taken yet. */
const holds = check(2, "holds", [
  [
    "held is not the reserve of the generations in progress",
    `SELECT a.id AS account, a.held_credits AS held, coalesce(g.reserved, 0) AS reserved, a.in_progress, coalesce(g.n, 0) AS open
     FROM account a LEFT JOIN (SELECT account_seq, sum(reserved_credits) AS reserved, count(*) AS n FROM generation
       WHERE completed_at_ms IS NULL GROUP BY account_seq) g ON g.account_seq = a.seq
     WHERE a.held_credits <> coalesce(g.reserved, 0) OR a.in_progress <> coalesce(g.n, 0) OR a.held_credits < 0
       OR a.available_credits < 0`,
  ],
  [
    "held is not the holds less their settlements",
    `SELECT a.id AS account, a.held_credits AS held, coalesce(m.held, 0) AS from_movements FROM account a
     LEFT JOIN (SELECT account_seq, sum((to_side = 'held') * credits - (from_side = 'held') * credits) AS held
       FROM movement GROUP BY account_seq) m ON m.account_seq = a.seq
     WHERE a.held_credits <> coalesce(m.held, 0)`,
  ],
]);

/** 3. One hold each; an ended generation has one capture with the release of the rest, or one release of the whole. */
const settledOnce = check(3, "settled once", [
  [
    "the movements of the generation are not one hold and, once it has ended, one settlement of all of it",
    `SELECT g.id AS generation, g.status, coalesce(m.holds, 0) AS holds, coalesce(m.captures, 0) AS captures,
       coalesce(m.releases, 0) AS releases
     FROM generation g LEFT JOIN (SELECT generation_seq, sum(kind = 'hold') AS holds, sum(kind = 'capture') AS captures,
       sum(kind = 'release') AS releases, sum(iif(kind = 'hold', credits, 0)) AS held, sum(iif(kind = 'capture', credits, 0)) AS captured,
       sum(iif(kind = 'release', credits, 0)) AS released FROM movement WHERE generation_seq IS NOT NULL GROUP BY generation_seq) m
       ON m.generation_seq = g.seq
     WHERE coalesce(m.holds, 0) <> 1 OR m.held <> g.reserved_credits OR CASE g.status
       WHEN 'succeeded' THEN m.captures <> 1 OR m.captured <> g.cost_credits OR m.captured + m.released <> g.reserved_credits
         OR m.releases <> (g.reserved_credits > g.cost_credits)
       WHEN 'failed' THEN m.captures <> 0 OR m.releases <> 1 OR m.released <> g.reserved_credits
       ELSE m.captures + m.releases <> 0 END`,
  ],
]);

/** 4. The charge is the price of the attempt that was delivered; quote and reserve are the ends of the frozen plan. */
const chargeIsQuote = check(4, "charge is the quote", [
  [
    "the cost is not the price of the one attempt delivered",
    `SELECT g.id AS generation, g.status, g.cost_credits AS cost, count(a.n) AS delivered, max(a.price_credits) AS price
     FROM generation g LEFT JOIN attempt a ON a.seq = g.seq AND a.state = 'delivered' GROUP BY g.seq
     HAVING CASE g.status WHEN 'succeeded' THEN count(a.n) <> 1 OR g.cost_credits IS NOT max(a.price_credits)
         OR g.cost_credits > g.reserved_credits
       WHEN 'failed' THEN g.cost_credits IS NOT 0 OR count(a.n) <> 0
       ELSE g.cost_credits IS NOT NULL OR count(a.n) <> 0 END`,
  ],
  [
    "quote and reserve are not the cheapest and the dearest price of the plan, or a price is above the most it may cost",
    `SELECT g.id AS generation, g.quoted_credits AS quoted, g.reserved_credits AS reserved, s.max_cost_credits AS most
     FROM generation g JOIN submission s ON s.seq = g.seq JOIN json_each(s.plan) p GROUP BY g.seq
     HAVING min(p.value ->> 'priceCredits') <> g.quoted_credits OR max(p.value ->> 'priceCredits') <> g.reserved_credits
       OR max(p.value ->> 'priceCredits') > s.max_cost_credits`,
  ],
  [
    "the attempt does not have the price its route was planned with",
    `SELECT a.ref AS attempt, a.route_id AS route, a.price_credits AS price FROM attempt a JOIN submission s ON s.seq = a.seq
     WHERE a.price_credits IS NOT (SELECT p.value ->> 'priceCredits' FROM json_each(s.plan) p
       WHERE p.value ->> 'routeId' = a.route_id)`,
  ],
]);

export const MONEY_CHECKS = [conservation, holds, settledOnce, chargeIsQuote] as const;
