// Low balances of mutations outside the fast path: adjustments and changes of a threshold.
import { balanceObject, fallsBelow, type LowBalance } from "../../domain/low-balance.ts";
import type { AdminResult } from "../../domain/mutations.ts";
import type { PurchaseResult } from "../../domain/purchase-mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { Head, RequestedTransfer } from "./ledger.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";
import type { AddEvent } from "./webhooks.ts";

export type LowBalanceDeps = {
  /** Threshold of accounts without their own; 0: never. */
  defaultCredits: Credits;
  addEvent: AddEvent;
  /** Called before known thresholds change. */
  thresholdsChanged: () => void;
};

const SELECT = "SELECT credits FROM balance_alert WHERE account_seq = ?1";
const SET = `INSERT INTO balance_alert VALUES (?1, ?2)
  ON CONFLICT (account_seq) DO UPDATE SET credits = excluded.credits WHERE balance_alert.credits <> excluded.credits`;
const REMOVE = "DELETE FROM balance_alert WHERE account_seq = ?1";

export const prepareLowBalance = (
  money: Pick<RequestedTransfer, "head">,
  { defaultCredits, addEvent, thresholdsChanged }: LowBalanceDeps,
) => {
  let fallen: LowBalance | undefined;
  const thresholdOf = function* (accountSeq: number): SqlProgram<Credits> {
    return (yield* first<{ credits: Credits }>(SELECT, accountSeq))?.credits ?? defaultCredits;
  };
  const announce = function* (accountSeq: number, head: Head, thresholdCredits: Credits, atMs: number): SqlProgram<void> {
    const event = { accountSeq, type: "credits.low", sequence: head.chainSeq, atMs, data: balanceObject(head) } as const;
    const deliveries = yield* addEvent(event);
    fallen = { accountSeq, availableCredits: head.availableCredits, thresholdCredits, deliveries };
  };

  return {
    /** Called after an adjustment that lowers a balance. */
    *lowered(accountSeq: number, beforeCredits: Credits, atMs: number): SqlProgram<void> {
      const thresholdCredits = yield* thresholdOf(accountSeq);
      const head = yield* money.head(accountSeq);
      if (head && fallsBelow(beforeCredits, head.availableCredits, thresholdCredits))
        yield* announce(accountSeq, head, thresholdCredits, atMs);
    },
    /** Sets the threshold of an account, or restores the default (null). @returns whether it changed */
    *setThreshold(accountSeq: number, credits: Credits | null, atMs: number): SqlProgram<boolean> {
      // The lock orders this after the admissions that read the threshold.
      const head = yield* money.head(accountSeq);
      const before = yield* thresholdOf(accountSeq);
      thresholdsChanged();
      const changed = yield* credits === null ? change(REMOVE, accountSeq) : change(SET, accountSeq, credits);
      const after = credits ?? defaultCredits;
      const { availableCredits = 0 } = head ?? {};
      if (head && availableCredits < after && availableCredits >= before) yield* announce(accountSeq, head, after, atMs);
      return changed > 0;
    },
    /** What has fallen since the last call. */
    take: (): LowBalance | undefined => {
      const taken = fallen;
      fallen = undefined;
      return taken;
    },
  };
};
export type LowBalances = ReturnType<typeof prepareLowBalance>;

/** Runs a program and adds the balance that it made low to its result. */
export const reportingLowBalance = function* (
  { take }: Pick<LowBalances, "take">,
  program: SqlProgram<AdminResult | PurchaseResult>,
): SqlProgram<AdminResult | PurchaseResult> {
  // A program that was rejected may have left one.
  take();
  const outcome = yield* program;
  const lowBalance = take();
  return lowBalance === undefined || outcome.kind === "refused" ? outcome : { ...outcome, lowBalance };
};
