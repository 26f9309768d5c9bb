// Refunds and disputes: their states, their effect on a purchase, and operator decisions.

import type { DecideReversal } from "../../domain/mutations.ts";
import type { RecordForeignReversal, RecordReversal, ReversalState } from "../../domain/purchase-mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { Crediting } from "./balance-adjustments.ts";
import type { Dialect } from "./dialect.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { all, change, first, type SqlProgram } from "./sql-program.ts";

/** The columns of a purchase that reversals need. */
export type Bought = {
  seq: number;
  id: string;
  account_seq: number;
  credits: Credits;
  state: string;
  payment_intent: string | null;
  reversed_credits: Credits;
};
/** `amount`: credits, or the smallest unit of another currency. */
type Known = { amount: number; state: ReversalState; reportedAtMs: number };
type ReportedReversal = Known & { id: string; kind: "refund" | "dispute"; paymentIntent: string; atMs: number };
type Foreign = Known & {
  id: string;
  kind: ReportedReversal["kind"];
  paymentIntent: string;
  currency: string;
  decidedAmount: number | null;
  decidedCredits: Credits | null;
};

const ORDER: readonly ReversalState[] = ["asked", "taken", "lost", "returned"];

/**
 * Merges a repeated event of a refund or dispute. A refund only advances. A dispute can be lost after it was won, and the
 * reverse, so the later event wins. Within one second the state further in the order wins.
 */
export const mergeReversal = (known: Known | undefined, reported: Pick<ReportedReversal, "kind" | keyof Known>): Known => {
  const { amount, state, reportedAtMs } = reported;
  if (!known) return { amount, state, reportedAtMs };
  const isFurther = ORDER.indexOf(state) > ORDER.indexOf(known.state);
  const isLater = reported.kind === "dispute" && reportedAtMs > known.reportedAtMs;
  const isEarlier = reported.kind === "dispute" && reportedAtMs < known.reportedAtMs;
  return {
    amount: Math.max(known.amount, amount),
    state: isLater || (isFurther && !isEarlier) ? state : known.state,
    reportedAtMs: Math.max(known.reportedAtMs, reportedAtMs),
  };
};

const SAVE = `INSERT INTO reversal (id, kind, payment_intent, credits, state, reported_at_ms, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
  ON CONFLICT (id) DO UPDATE SET credits = excluded.credits, state = excluded.state, reported_at_ms = excluded.reported_at_ms, at_ms = excluded.at_ms`;
const SAVE_FOREIGN = `INSERT INTO foreign_reversal (id, kind, payment_intent, amount, currency, state, reported_at_ms, at_ms)
  VALUES (?1, ?2, ?3, ?4, ?8, ?5, ?6, ?7)
  ON CONFLICT (id) DO UPDATE SET amount = excluded.amount, state = excluded.state, reported_at_ms = excluded.reported_at_ms, at_ms = excluded.at_ms`;
const DECIDE = "UPDATE foreign_reversal SET decided_amount = amount, decided_credits = ?2, decided_at_ms = ?3 WHERE id = ?1";
const FOREIGN = `SELECT id, kind, payment_intent AS "paymentIntent", amount, currency, state, reported_at_ms AS "reportedAtMs",
  decided_amount AS "decidedAmount", decided_credits AS "decidedCredits" FROM foreign_reversal`;
const SUM = `SELECT CAST(coalesce(sum(credits), 0) AS bigint) AS credits FROM reversal
  WHERE payment_intent = ?1 AND state IN ('taken', 'lost')`;
const SET_REVERSED = "UPDATE purchase SET reversed_credits = ?2 WHERE seq = ?1";
const INSERT_LINK = "INSERT INTO purchase_adjustment (adjustment_seq, purchase_seq, reason) VALUES (?1, ?2, ?3)";
const COUNT_LINKS = "SELECT count(*) AS n FROM purchase_adjustment WHERE purchase_seq = ?1";

const isUndecided = ({ state, amount, decidedAmount }: Foreign): boolean =>
  (state === "taken" || state === "lost") && (decidedAmount === null || decidedAmount < amount);
const isSame = (one: Known | undefined, other: Known): boolean => one?.state === other.state && one.amount === other.amount;

/** Result: whether anything changed, the credits added to the balance, and the number of undecided reversals of the purchase. */
export type Reversed = { changed: boolean; transferredCredits: Credits; undecided: number };

export const prepareReversals = ({ forUpdate }: Dialect, { credit, pause, resume }: Crediting) => {
  const selectKnown = `SELECT credits AS amount, state, coalesce(reported_at_ms, at_ms) AS "reportedAtMs" FROM reversal WHERE id = ?1 ${forUpdate}`;
  const selectForeign = `${FOREIGN} WHERE id = ?1 ${forUpdate}`;
  const selectBought = `SELECT seq, id, account_seq, credits, state, payment_intent, reversed_credits FROM purchase
    WHERE payment_intent = ?1 ${forUpdate}`;

  /** @returns whether anything changed; a repeated event only updates its time. */
  const save = function* (reported: ReportedReversal): SqlProgram<boolean> {
    const { id, kind, paymentIntent, atMs } = reported;
    const known = yield* first<Known>(selectKnown, id);
    const now = mergeReversal(known, reported);
    if (isSame(known, now) && known?.reportedAtMs === now.reportedAtMs) return false;
    yield* change(SAVE, id, kind, paymentIntent, now.amount, now.state, now.reportedAtMs, atMs);
    return !isSame(known, now);
  };

  /** Transfers the difference between the required and the current reversal. */
  const reverse = function* (bought: Bought, paymentIntent: string, atMs: number): SqlProgram<Credits> {
    const due = Math.min(bought.credits, (yield* first<{ credits: Credits }>(SUM, paymentIntent))?.credits ?? 0);
    const credits = bought.reversed_credits - due;
    if (credits === 0) return 0;
    const why = credits < 0 ? "taken" : "returned";
    const times = (yield* first<{ n: number }>(COUNT_LINKS, bought.seq))?.n ?? 0;
    const { seq, transferredCredits } = yield* credit({
      ...{ accountSeq: bought.account_seq, kind: "adjust", credits, atMs },
      note: why === "taken" ? `taken back of purchase ${bought.id}` : `given back of purchase ${bought.id}`,
      reference: `${bought.id} ${times}`,
    });
    yield* change(INSERT_LINK, seq, bought.seq, why);
    yield* change(SET_REVERSED, bought.seq, due);
    return transferredCredits;
  };

  /** Applies the known refunds and disputes to a paid purchase. Undecided ones pause the account. */
  const review = function* (bought: Bought | undefined, atMs: number): SqlProgram<Omit<Reversed, "changed">> {
    if (bought?.state !== "paid" || bought.payment_intent === null) return { transferredCredits: 0, undecided: 0 };
    const foreign = yield* all<Foreign>(`${FOREIGN} WHERE payment_intent = ?1 ORDER BY id`, bought.payment_intent);
    for (const { id, kind, paymentIntent, state, reportedAtMs, decidedCredits } of foreign)
      if (decidedCredits) yield* save({ id, kind, paymentIntent, amount: decidedCredits, state, reportedAtMs, atMs });
    const transferredCredits = yield* reverse(bought, bought.payment_intent, atMs);
    const undecided = foreign.filter(isUndecided).length;
    if (undecided > 0) yield* pause(bought.account_seq);
    else if (foreign.length > 0) yield* resume(bought.account_seq);
    return { transferredCredits, undecided };
  };

  const boughtWith = (paymentIntent: string): SqlProgram<Bought | undefined> => first<Bought>(selectBought, paymentIntent);

  return {
    review,
    boughtWith,
    *note({ id, kind, paymentIntent, credits, state, reportedAtMs, atMs }: RecordReversal): SqlProgram<Reversed> {
      const changed = yield* save({ id, kind, paymentIntent, amount: credits, state, reportedAtMs, atMs });
      const came = changed ? yield* review(yield* boughtWith(paymentIntent), atMs) : { transferredCredits: 0, undecided: 0 };
      return { changed, ...came };
    },
    *noteForeign({ mutation: _, by: __, currency, ...reported }: RecordForeignReversal): SqlProgram<Reversed> {
      const { id, kind, paymentIntent, atMs } = reported;
      const known = yield* first<Foreign>(selectForeign, id);
      if (known && known.currency !== currency)
        throw new MutationRejected(`${kind} ${id} is of ${known.currency}, not of ${currency}`);
      const now = mergeReversal(known, reported);
      if (isSame(known, now) && known?.reportedAtMs === now.reportedAtMs)
        return { changed: false, transferredCredits: 0, undecided: 0 };
      yield* change(SAVE_FOREIGN, id, kind, paymentIntent, now.amount, now.state, now.reportedAtMs, atMs, currency);
      const came = yield* review(yield* boughtWith(paymentIntent), atMs);
      return { changed: !isSame(known, now), ...came };
    },
    /** @throws MutationRejected if nothing is undecided or the amount is too large. @returns the credits added to the balance. */
    *decide({ id, credits, atMs }: DecideReversal): SqlProgram<Credits> {
      const found = yield* first<Foreign>(selectForeign, id);
      if (!found) throw new MutationRejected(`there is no refund or dispute ${id} in a currency other than USD`);
      const bought = yield* boughtWith(found.paymentIntent);
      if (bought?.state !== "paid") throw new MutationRejected(`the payment of ${id} is of no purchase that was credited here`);
      if (found.decidedCredits === credits && !isUndecided(found)) return 0;
      if (!isUndecided(found))
        throw new MutationRejected(
          found.decidedCredits === null
            ? `${id} takes nothing back: it is ${found.state}`
            : `${id} was decided before: ${found.decidedCredits} credits; correct it with credits add or credits take`,
        );
      const least = found.decidedCredits ?? 0;
      if (!Number.isSafeInteger(credits) || credits < least || credits > bought.credits)
        throw new MutationRejected(
          `${credits} credits: of the purchase ${bought.id} from ${least} to ${bought.credits} may be taken back`,
        );
      yield* change(DECIDE, id, credits, atMs);
      return (yield* review(bought, atMs)).transferredCredits;
    },
  };
};
export type Reversals = ReturnType<typeof prepareReversals>;
