// Spend alerts: sets the amount of an account, and records the month whose spend reaches it, in the roll-up of usage.
import { DAY_MS } from "../../domain/calendar.ts";
import { mayReach, monthDayOf, type SpendAlert, type SpendReached, withAmount } from "../../domain/spend-alert.ts";
import type { Credits } from "../../domain/types.ts";
import type { Dialect } from "./dialect.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { all, change, first, type SqlProgram } from "./sql-program.ts";

/** The newest end of a generation of an account in a month, among those that a roll-up adds. */
export type AddedSpend = { accountSeq: number; monthDay: number; atMs: number };
type Row = SpendAlert & { accountSeq: number };

/** The columns of `SpendAlert` for a `spend_alert` with the alias `s`. */
export const SPEND_ALERT_COLUMNS = 's.credits, s.reached_month_day AS "reachedMonthDay", s.reached_at_ms AS "reachedAtMs"';
const LONGEST_MONTH_DAYS = 31;

/** Sums what the generations of an account cost that ended on some days. Each day is found in the primary key. */
export const spentOn = ({ items, json }: Pick<Dialect, "items" | "json">): string =>
  `SELECT CAST(coalesce(sum(u.charged_credits), 0) AS bigint) AS credits FROM ${items(json("CAST(?2 AS text)"), "j")}
   JOIN usage_daily u ON u.day = CAST(j.value AS bigint) AND u.account_seq = ?1`;

/** The days of the month that begins with a day. */
export const daysOfMonth = (monthDay: number): number[] =>
  Array.from({ length: LONGEST_MONTH_DAYS }, (_, n) => monthDay + n).filter((day) => monthDayOf(day * DAY_MS) === monthDay);

const EXISTS = "SELECT seq FROM account WHERE seq = ?1";
const SET = `INSERT INTO spend_alert (account_seq, credits, reached_month_day, reached_at_ms) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (account_seq) DO UPDATE SET credits = excluded.credits, reached_month_day = excluded.reached_month_day,
    reached_at_ms = excluded.reached_at_ms WHERE spend_alert.credits <> excluded.credits`;
const REMOVE = "DELETE FROM spend_alert WHERE account_seq = ?1";
const RECORD = "UPDATE spend_alert SET reached_month_day = ?2, reached_at_ms = ?3 WHERE account_seq = ?1";

export const prepareSpendAlerts = (dialect: Dialect) => {
  const sum = spentOn(dialect);
  const selectAlert = `SELECT ${SPEND_ALERT_COLUMNS} FROM spend_alert s WHERE s.account_seq = ?1 ${dialect.forUpdate}`;
  // All nodes lock in the same order, which avoids deadlocks. A node that waited for the lock then sums what the other one has added.
  const lockAlerts = `SELECT s.account_seq AS "accountSeq", ${SPEND_ALERT_COLUMNS} FROM spend_alert s
    WHERE s.account_seq IN (SELECT CAST(j.value AS bigint) FROM ${dialect.items(dialect.json("CAST(?1 AS text)"), "j")})
    ORDER BY s.account_seq ${dialect.forUpdate}`;
  const spentIn = function* (accountSeq: number, monthDay: number): SqlProgram<Credits> {
    return (yield* first<{ credits: Credits }>(sum, accountSeq, JSON.stringify(daysOfMonth(monthDay))))?.credits ?? 0;
  };

  return {
    /** Sets the amount of an account; null: no alert. The spend of the present month counts. */
    *setAmount(
      accountSeq: number,
      credits: Credits | null,
      atMs: number,
    ): SqlProgram<{ changed: boolean; reached: readonly SpendReached[] }> {
      if (!(yield* first(EXISTS, accountSeq))) throw new MutationRejected(`there is no account ${accountSeq}`);
      if (credits === null) return { changed: (yield* change(REMOVE, accountSeq)) > 0, reached: [] };
      const before = (yield* first<SpendAlert>(selectAlert, accountSeq)) ?? null;
      const monthDay = monthDayOf(atMs);
      const spentCredits = yield* spentIn(accountSeq, monthDay);
      const { alert, isNewlyReached } = withAmount(before, credits, { monthDay, credits: spentCredits, atMs });
      const changed = (yield* change(SET, accountSeq, credits, alert.reachedMonthDay, alert.reachedAtMs)) > 0;
      const reached = { accountSeq, monthDay, spentCredits, alertCredits: credits };
      return { changed, reached: changed && isNewlyReached ? [reached] : [] };
    },
    /** Called after usage was added. Only accounts with an alert that the month has not reached are summed. */
    *added(spends: readonly AddedSpend[]): SqlProgram<readonly SpendReached[]> {
      if (spends.length === 0) return [];
      const alerts = new Map(
        (yield* all<Row>(lockAlerts, JSON.stringify([...new Set(spends.map(({ accountSeq }) => accountSeq))]))).map((row) => [
          row.accountSeq,
          row,
        ]),
      );
      const reached: SpendReached[] = [];
      for (const { accountSeq, monthDay, atMs } of spends.toSorted((a, b) => a.monthDay - b.monthDay)) {
        const alert = alerts.get(accountSeq);
        if (!alert || !mayReach(alert, monthDay)) continue;
        const spentCredits = yield* spentIn(accountSeq, monthDay);
        if (spentCredits < alert.credits) continue;
        yield* change(RECORD, accountSeq, monthDay, atMs);
        alert.reachedMonthDay = monthDay;
        reached.push({ accountSeq, monthDay, spentCredits, alertCredits: alert.credits });
      }
      return reached;
    },
  };
};
export type SpendAlerts = ReturnType<typeof prepareSpendAlerts>;
