// Usage by day, model, account or key, with success rate and median wait, also as CSV.
import { refuse } from "../domain/api-errors.ts";
import { DAY_MS, dayOf, medianWaitMs } from "../domain/calendar.ts";
import type { Credits } from "../domain/types.ts";
import type { StoreReads, UsageGrouping, UsageQuery, UsageRow } from "../store/store.ts";
import { csvRow } from "./csv.ts";

/** A day (`2026-10-19`), model, account or key, and the generations that ended there. */
export type UsageLine = {
  of: string;
  /** Display name. */
  name: string;
  count: number;
  succeeded: number;
  failed: number;
  chargedCredits: Credits;
  /** Median time from submission to success; null if nothing succeeded. */
  medianWaitMs: number | null;
};
/** Usage in a range of days, in UTC. By day, days without generations are included. */
export type UsageView = { by: UsageGrouping; from: string; to: string; total: UsageLine; lines: UsageLine[] };

/** A range of days, both ends inclusive, counted from 1970 in UTC. */
export type UsageRequest = UsageQuery;
export type UsageReads = Pick<StoreReads, "usage" | "accounts" | "keys">;

/** Maximum length of a range, and its length if the request names no first day. */
const MAX_DAYS = 400;
const SHOWN_DAYS = 30;

/** `2026-10-19` */
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
/** The day of such a text; undefined if it is invalid. */
export const dayOfText = (text: string): number | undefined => {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const day = Math.floor(Date.parse(`${text}T00:00:00Z`) / DAY_MS);
  return Number.isNaN(day) || dayText(day) !== text ? undefined : day;
};

/**
 * The range of a request, by default the last SHOWN_DAYS days.
 * @throws ApiError `invalid_request` for an invalid or too long range
 */
export const usageRange = (
  { from, to }: { from?: string | undefined; to?: string | undefined },
  nowMs: number,
): Pick<UsageRequest, "fromDay" | "toDay"> => {
  const toDay = to === undefined ? dayOf(nowMs) : dayOfText(to);
  if (toDay === undefined) return refuse("invalid_request", "to: a day as 2026-10-19.");
  const fromDay = from === undefined ? toDay - SHOWN_DAYS + 1 : dayOfText(from);
  if (fromDay === undefined) return refuse("invalid_request", "from: a day as 2026-10-19.");
  if (fromDay > toDay || toDay - fromDay >= MAX_DAYS)
    return refuse("invalid_request", `from: a day before to, and at most ${MAX_DAYS} days in all.`);
  return { fromDay, toDay };
};

export const lineOf = (of: string, name: string, rows: readonly UsageRow[]): UsageLine => {
  const waits = new Map<number, number>();
  const line = { of, name, count: 0, succeeded: 0, failed: 0, chargedCredits: 0 };
  for (const { wait, succeeded, failed, chargedCredits } of rows) {
    line.count += succeeded + failed;
    line.succeeded += succeeded;
    line.failed += failed;
    line.chargedCredits += chargedCredits;
    waits.set(wait, (waits.get(wait) ?? 0) + succeeded);
  }
  return { ...line, medianWaitMs: medianWaitMs(waits) };
};

const namesOf = async (reads: UsageReads, by: UsageGrouping, accountId: string | null): Promise<Map<string, string>> => {
  if (by === "account") return new Map((await reads.accounts()).map(({ id, name }) => [id, name]));
  if (by !== "key") return new Map();
  return new Map((await reads.keys(accountId ?? undefined)).map(({ id, name, start }) => [id, name || `${start}…`]));
};

export const usageView = async (reads: UsageReads, request: UsageRequest): Promise<UsageView> => {
  const { by, fromDay, toDay, accountId } = request;
  const rows = await reads.usage(request);
  const names = await namesOf(reads, by, accountId);
  const labelOf = by === "day" ? ({ of }: UsageRow) => dayText(Number(of)) : ({ of }: UsageRow) => String(of);
  const groups = Map.groupBy(rows, labelOf);
  // Days without generations are included.
  const order = by === "day" ? Array.from({ length: toDay - fromDay + 1 }, (_, n) => dayText(fromDay + n)) : [...groups.keys()];
  // The only key of an account that is not listed is that of its playground.
  const unnamed = (of: string) => (by === "key" ? "Playground" : of);
  const lines = order.map((of) => lineOf(of, names.get(of) ?? unnamed(of), groups.get(of) ?? []));
  if (by !== "day") lines.sort((a, b) => b.chargedCredits - a.chargedCredits || b.count - a.count || (a.of < b.of ? -1 : 1));
  return { by, from: dayText(fromDay), to: dayText(toDay), total: lineOf("", "Total", rows), lines };
};

export const usageCsv = ({ by, lines }: UsageView): string =>
  [
    csvRow([by, ...(by === "day" ? [] : ["name"]), "generations", "succeeded", "failed", "charged_usd", "median_wait_s"]),
    ...lines.map(({ of, name, count, succeeded, failed, chargedCredits, medianWaitMs: wait }) =>
      csvRow([
        ...[of, ...(by === "day" ? [] : [name]), count, succeeded, failed],
        ...[{ number: (chargedCredits / 100).toFixed(2) }, wait === null ? null : { number: (wait / 1000).toFixed(1) }],
      ]),
    ),
  ].join("");
