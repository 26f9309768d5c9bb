// Spend alerts: when the spend of an account in a calendar month (UTC) reaches the amount that it has set.
//
// Spend is what ended generations cost, in the month of their end, as far as usage is rolled up.
import { windowFrom } from "./calendar.ts";
import type { Credits } from "./types.ts";

/** The amount of an account. `reachedMonthDay`: first day of the last month whose spend reached it; null: none. */
export type SpendAlert = { credits: Credits; reachedMonthDay: number | null; reachedAtMs: number | null };

/** The spend of a month has just reached the amount of the account. It comes once for a month. */
export type SpendReached = { accountSeq: number; monthDay: number; spentCredits: Credits; alertCredits: Credits };

/** First day of the month that contains a time, since 1970. */
export const monthDayOf = (ms: number): number => windowFrom("month", ms);

/** Whether the spend of the month of a time has reached the amount. */
export const isReachedAt = (alert: SpendAlert | null, nowMs: number): boolean =>
  alert !== null && alert.reachedMonthDay === monthDayOf(nowMs);

/** Whether the spend of a month has to be compared with the amount: it has not been recorded for this month or a later one. */
export const mayReach = ({ reachedMonthDay }: Pick<SpendAlert, "reachedMonthDay">, monthDay: number): boolean =>
  reachedMonthDay === null || reachedMonthDay < monthDay;

/** The alert with a new amount, in a month with this spend. A record of the month stays if the amount is still reached. */
export const withAmount = (
  before: SpendAlert | null,
  credits: Credits,
  spent: { monthDay: number; credits: Credits; atMs: number },
): { alert: SpendAlert; isNewlyReached: boolean } => {
  const isReached = spent.credits >= credits;
  const wasReached = before?.reachedMonthDay === spent.monthDay;
  if (!isReached) return { alert: { credits, reachedMonthDay: null, reachedAtMs: null }, isNewlyReached: false };
  const reachedAtMs = wasReached ? before.reachedAtMs : spent.atMs;
  return { alert: { credits, reachedMonthDay: spent.monthDay, reachedAtMs }, isNewlyReached: !wasReached };
};
