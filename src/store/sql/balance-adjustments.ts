// Top-ups, adjustments and debts of a balance.

import type { AdjustBalance } from "../../domain/mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { RequestedTransfer } from "./ledger.ts";
import type { LowBalances } from "./low-balance.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { change, first, insert, type SqlProgram } from "./sql-program.ts";

/**
 * `seq` is the row of the adjustment; `transferSeq` the row of its transfer, if there is one; `isNew` is false for a known
 * reference.
 */
export type Credited = { seq: number; transferredCredits: Credits; transferSeq: number | null; isNew: boolean };
type Requested = Omit<AdjustBalance, "mutation">;
type Known = { seq: number; account_seq: number; requested_credits: number; kind: string; transfer_seq: number | null };

const SELECT_REFERENCE =
  "SELECT seq, account_seq, requested_credits, kind, transfer_seq FROM balance_adjustment WHERE reference = ?1";
const INSERT_CREDIT = `INSERT INTO balance_adjustment (account_seq, kind, requested_credits, transferred_credits, reference, transfer_seq, note, at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING seq`;
const INSERT_SETTLED = "INSERT INTO debt_repayment (adjustment_seq, account_seq, credits) VALUES (?1, ?2, ?3)";
const PAUSE = "UPDATE account SET paused = 1 WHERE seq = ?1 AND paused = 0";
const NOTE_PAUSE = "INSERT INTO paused_by_debt VALUES (?1) ON CONFLICT DO NOTHING";
/** Reasons for a pause: a debt, or a refund or dispute that waits for an operator's decision. */
const REASON_TO_PAUSE = `SELECT 1 AS reason FROM balance WHERE account_seq = ?1 AND owed_credits > 0
  UNION ALL SELECT 1 FROM purchase p JOIN foreign_reversal f ON f.payment_intent = p.payment_intent
    WHERE p.account_seq = ?1 AND p.state = 'paid' AND f.state IN ('taken', 'lost') AND (f.decided_amount IS NULL OR f.decided_amount < f.amount)`;
const RESUME = `UPDATE account SET paused = 0
  WHERE seq = ?1 AND seq IN (SELECT account_seq FROM paused_by_debt WHERE account_seq = ?1)`;
const FORGET_PAUSE = "DELETE FROM paused_by_debt WHERE account_seq = ?1";

/** Prepares adjustments for the admin service, purchases and settlements. */
export const prepareCredit = (money: RequestedTransfer, { lowered }: Pick<LowBalances, "lowered">) => {
  /** Transfers available credits and writes the row with the principal. */
  const move = function* (requested: Requested, transferredCredits: Credits): SqlProgram<Credited> {
    const { accountSeq, kind, credits, reference, note, atMs } = requested;
    const head = yield* money.head(accountSeq);
    if (!head) throw new MutationRejected(`there is no account ${accountSeq}`);
    let transferSeq: number | null = null;
    if (transferredCredits !== 0) {
      const outside = kind === "topup" ? "funding" : "adjustments";
      const posted = yield* money.post(accountSeq, head, {
        kind,
        credits: Math.abs(transferredCredits),
        from: transferredCredits > 0 ? outside : "available",
        to: transferredCredits > 0 ? "available" : outside,
        generationSeq: null,
        attemptN: null,
        atMs,
        note,
        progress: 0,
      });
      transferSeq = posted.seq;
    }
    const row = [accountSeq, kind, credits, transferredCredits, reference, transferSeq, note, atMs];
    return { seq: yield* insert(INSERT_CREDIT, ...row), transferredCredits, transferSeq, isNew: true };
  };

  const owe = function* (accountSeq: number, credits: Credits): SqlProgram<void> {
    const head = yield* money.head(accountSeq);
    if (head) yield* money.owe(accountSeq, head, credits);
  };

  const pause = function* (accountSeq: number): SqlProgram<void> {
    if ((yield* change(PAUSE, accountSeq)) > 0) yield* change(NOTE_PAUSE, accountSeq);
  };
  /** Ends a pause that a debt caused and no operator confirmed, if its reason is gone. */
  const resume = function* (accountSeq: number): SqlProgram<void> {
    if (yield* first(REASON_TO_PAUSE, accountSeq)) return;
    yield* change(RESUME, accountSeq);
    yield* change(FORGET_PAUSE, accountSeq);
  };

  /**
   * Incoming and released credits repay the debt first. If no debt remains, the pause that it caused ends.
   * @returns the repaid part.
   */
  const settle = function* (accountSeq: number, atMs: number): SqlProgram<Credits> {
    const head = yield* money.head(accountSeq);
    const owed = head?.owedCredits ?? 0;
    const credits = Math.min(owed, head?.availableCredits ?? 0);
    if (credits === 0) return 0;
    const { seq } = yield* move(
      { accountSeq, kind: "adjust", credits: -credits, reference: null, note: "settles what was owed", atMs },
      -credits,
    );
    yield* change(INSERT_SETTLED, seq, accountSeq, credits);
    yield* owe(accountSeq, -credits);
    if (credits === owed) yield* resume(accountSeq);
    return credits;
  };

  return {
    /** @throws MutationRejected for an invalid amount and for a reference with other contents. */
    *credit(requested: Requested): SqlProgram<Credited> {
      const { accountSeq, kind, credits, reference, atMs } = requested;
      if (!Number.isSafeInteger(credits) || credits === 0 || (kind === "topup" && credits < 0))
        throw new MutationRejected(`${credits} is not an amount for ${kind === "topup" ? "a top-up" : "an adjustment"}`);
      const known = reference === null ? undefined : yield* first<Known>(SELECT_REFERENCE, reference);
      if (known) {
        if (known.account_seq !== accountSeq || known.requested_credits !== credits || known.kind !== kind)
          throw new MutationRejected(`the reference ${reference} was already used for another account or amount`);
        return { seq: known.seq, transferredCredits: 0, transferSeq: known.transfer_seq, isNew: false };
      }
      // A balance never falls below its holds: at most the available credits are taken, and the rest becomes a debt.
      const { availableCredits = 0 } = (yield* money.head(accountSeq)) ?? {};
      const moved = Math.max(credits, 0 - availableCredits);
      const credited = yield* move(requested, moved);
      if (moved !== credits) {
        yield* owe(accountSeq, moved - credits);
        yield* pause(accountSeq);
      } else if (credits > 0) yield* settle(accountSeq, atMs);
      // A balance with a debt has been low since the debt, so its repayment makes none low.
      if (credits < 0) yield* lowered(accountSeq, availableCredits, atMs);
      return credited;
    },
    ...{ settle, pause, resume },
    /** An operator has decided about the pause, so a later repayment does not end it. */
    decidedOnPause: (accountSeq: number): SqlProgram<number> => change(FORGET_PAUSE, accountSeq),
  };
};
export type Crediting = ReturnType<typeof prepareCredit>;
