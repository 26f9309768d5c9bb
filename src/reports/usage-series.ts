// Usage by day and group: each day, the groups by their spend, and the days of the groups that a chart shows.
import type { Credits } from "../domain/types.ts";
import type { EndUserDayRow, EndUserReads, EndUserUsageRow } from "../store/end-user-reads.ts";
import type { StoreReads, UsageGrouping } from "../store/store.ts";
import { dayText, lineOf, type UsageLine, type UsageReads, type UsageRequest, usageView } from "./usage.ts";

export const SERIES_GROUPINGS = ["model", "key", "account", "end_user"] as const;
export type SeriesGrouping = (typeof SERIES_GROUPINGS)[number];

/** What a group was charged and how many of its generations ended, on each day of the range. */
export type UsageSeries = Pick<UsageLine, "of" | "name"> & { chargedCredits: Credits[]; counts: number[] };
/**
 * `days`: every day of the range. `groups`: at most MAX_GROUPS, highest spend first. `series`: the days of the first groups, in the same
 * order. `groupCount`: the number of groups; null: there are end users that were not examined.
 */
export type UsageSeriesView = {
  by: SeriesGrouping;
  from: string;
  to: string;
  total: UsageLine;
  days: UsageLine[];
  groups: UsageLine[];
  groupCount: number | null;
  series: UsageSeries[];
};

export type SeriesReads = UsageReads &
  Pick<StoreReads, "usageByDay"> &
  Pick<EndUserReads, "endUser" | "endUserDays" | "endUserUsage">;
type Range = Pick<UsageRequest, "fromDay" | "toDay">;
type DayOfGroup = { of: string; day: number; count: number; chargedCredits: Credits };

const MAX_GROUPS = 50;
/** Groups with a colour of their own in a chart. */
const MAX_SERIES = 8;
/** The newest end users that are examined, a few milliseconds. */
const MAX_END_USERS = 5_000;

const seriesOf = (groups: readonly UsageLine[], rows: readonly DayOfGroup[], { fromDay, toDay }: Range): UsageSeries[] => {
  const byGroup = Map.groupBy(rows, ({ of }) => of);
  return groups.map(({ of, name }) => {
    const days = new Map((byGroup.get(of) ?? []).map((row) => [row.day, row]));
    const range = Array.from({ length: toDay - fromDay + 1 }, (_, n) => days.get(fromDay + n));
    return {
      ...{ of, name },
      chargedCredits: range.map((row) => row?.chargedCredits ?? 0),
      counts: range.map((row) => row?.count ?? 0),
    };
  });
};

/** Usage by model, key or account, of all or of one model or key. */
export const usageSeries = async (
  reads: SeriesReads,
  request: UsageRequest & { by: Exclude<UsageGrouping, "day"> },
): Promise<UsageSeriesView> => {
  const [byDay, byGroup] = await Promise.all([usageView(reads, { ...request, by: "day" }), usageView(reads, request)]);
  const groups = byGroup.lines.slice(0, MAX_GROUPS);
  const shown = groups.slice(0, MAX_SERIES);
  const rows = await reads.usageByDay(
    request,
    shown.map(({ of }) => of),
  );
  const days = rows.map(({ of, day, succeeded, failed, chargedCredits }) => ({
    ...{ of: String(of), day, count: succeeded + failed, chargedCredits },
  }));
  const { from, to, total, lines } = byDay;
  return {
    ...{ by: request.by, from, to, total, days: lines, groups },
    ...{ groupCount: byGroup.lines.length, series: seriesOf(shown, days, request) },
  };
};

const endUserLine = ({ name, succeeded, failed, chargedCredits }: EndUserUsageRow): UsageLine => ({
  ...{ of: name, name, count: succeeded + failed, succeeded, failed, chargedCredits, medianWaitMs: null },
});
const bySpend = (a: UsageLine, b: UsageLine): number =>
  b.chargedCredits - a.chargedCredits || b.count - a.count || (a.of < b.of ? -1 : 1);

/** The days of one end user as lines; without waiting times, which are not counted by end user. */
const daysOfOne = (rows: readonly EndUserDayRow[], { fromDay, toDay }: Range): UsageLine[] => {
  const days = new Map(rows.map((row) => [row.day, row]));
  return Array.from({ length: toDay - fromDay + 1 }, (_, n) => {
    const { succeeded = 0, failed = 0, chargedCredits = 0 } = days.get(fromDay + n) ?? {};
    const of = dayText(fromDay + n);
    return { of, name: of, count: succeeded + failed, succeeded, failed, chargedCredits, medianWaitMs: null };
  });
};

const sumOf = (lines: readonly UsageLine[]): UsageLine => {
  const sum = lineOf("", "Total", []);
  for (const { count, succeeded, failed, chargedCredits } of lines) {
    sum.count += count;
    sum.succeeded += succeeded;
    sum.failed += failed;
    sum.chargedCredits += chargedCredits;
  }
  return sum;
};

type OfAccount = Range & { account: { seq: number; id: string }; nowMs: number };

/** Usage of one end user of an account. */
const oneEndUser = async (reads: SeriesReads, { account, nowMs, ...range }: OfAccount, endUser: string) => {
  const accountSeq = account.seq;
  const found = await reads.endUser(accountSeq, endUser, nowMs);
  const rows = found ? await reads.endUserDays({ accountSeq, seqs: [found.seq], ...range }) : [];
  const days = daysOfOne(rows, range);
  const total = sumOf(days);
  const groups = total.count === 0 ? [] : [{ ...total, of: endUser, name: endUser }];
  const counted = rows.map(({ day, succeeded, failed, chargedCredits }) => ({
    ...{ of: endUser, day, count: succeeded + failed, chargedCredits },
  }));
  return { total, days, groups, groupCount: groups.length, series: seriesOf(groups, counted, range) };
};

/** Usage of an account by end user, among its newest ones. The rest of a day has no end user, or an older one. */
const newestEndUsers = async (reads: SeriesReads, { account, nowMs: _, ...range }: OfAccount) => {
  const accountSeq = account.seq;
  const page = { limit: MAX_END_USERS, maxExamined: MAX_END_USERS, beforeSeq: null };
  const [{ total, lines: days }, { rows, next }] = await Promise.all([
    usageView(reads, { ...range, accountId: account.id, by: "day" }),
    reads.endUserUsage({ accountSeq, ...range, ...page }),
  ]);
  const seqs = new Map(rows.map(({ name, seq }) => [name, seq]));
  const names = new Map(rows.map(({ name, seq }) => [seq, name]));
  const lines = rows.map(endUserLine).sort(bySpend);
  const groups = lines.slice(0, MAX_GROUPS);
  const shown = groups.slice(0, MAX_SERIES);
  const found = await reads.endUserDays({ accountSeq, seqs: shown.flatMap(({ of }) => seqs.get(of) ?? []), ...range });
  const counted = found.map(({ seq, day, succeeded, failed, chargedCredits }) => ({
    ...{ of: names.get(seq) ?? "", day, count: succeeded + failed, chargedCredits },
  }));
  const groupCount = next === null ? lines.length : null;
  return { total, days, groups, groupCount, series: seriesOf(shown, counted, range) };
};

/** Usage of an account by end user, of all or of one. */
export const endUserSeries = async (
  reads: SeriesReads,
  { endUser, ...request }: OfAccount & { endUser: string | null },
): Promise<UsageSeriesView> => {
  const named = { by: "end_user", from: dayText(request.fromDay), to: dayText(request.toDay) } as const;
  const found = endUser === null ? await newestEndUsers(reads, request) : await oneEndUser(reads, request, endUser);
  return { ...named, ...found };
};
