// Queries of end users: limits, spending in the window of the limit, and usage.
import { endUserWindowFrom } from "../../../domain/end-users.ts";
import type { Credits } from "../../../domain/types.ts";
import type { EndUserDayRow, EndUserReads, EndUserRow, EndUserUsageRow } from "../../end-user-reads.ts";
import type { Dialect } from "../dialect.ts";
import { END_USER_COLUMNS, type EndUserColumns, endUserTerm, toLimit } from "../end-users.ts";
import type { Query } from "../sql-program.ts";

type Stored = EndUserColumns & { name: string; createdAtMs: number; spentCredits: Credits; heldCredits: Credits };

const FIRST_DAY = "CASE u.limit_window WHEN 'day' THEN ?2 WHEN 'week' THEN ?3 WHEN 'month' THEN ?4 ELSE 0 END";
const sumOf = (column: string): string =>
  `CAST(coalesce((SELECT sum(d.${column}) FROM end_user_day d WHERE d.end_user_seq = u.seq AND d.day >= ${FIRST_DAY}), 0) AS bigint)`;
const SELECT = `SELECT ${END_USER_COLUMNS}, n.name, u.created_at_ms AS "createdAtMs",
    ${sumOf("spent_credits")} AS "spentCredits", ${sumOf("held_credits")} AS "heldCredits"
  FROM end_user u JOIN end_user_name n ON n.end_user_seq = u.seq WHERE u.account_seq = ?1`;
const ONE = `${SELECT} AND u.term = CAST(?5 AS text)`;
const PAGE = `${SELECT} AND u.erased_at_ms IS NULL AND u.seq < ?5 ORDER BY u.seq DESC LIMIT ?6`;

const EXAMINED =
  "SELECT seq FROM end_user WHERE account_seq = ?1 AND erased_at_ms IS NULL AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
const END_OF_EXAMINED = `SELECT min(seq) AS seq, count(*) AS n FROM (${EXAMINED}) examined`;
const USAGE = `SELECT u.seq, n.name, CAST(sum(d.succeeded) AS bigint) AS succeeded, CAST(sum(d.failed) AS bigint) AS failed,
    CAST(sum(d.charged_credits) AS bigint) AS "chargedCredits"
  FROM (${EXAMINED}) u JOIN end_user_name n ON n.end_user_seq = u.seq JOIN end_user_day d ON d.end_user_seq = u.seq AND d.day BETWEEN ?4 AND ?5
  GROUP BY u.seq, n.name HAVING sum(d.succeeded + d.failed) > 0 ORDER BY u.seq DESC LIMIT ?6`;

const toRow = ({ limitWindow, limitCredits, ...row }: Stored): EndUserRow => ({
  ...row,
  limit: toLimit({ limitWindow, limitCredits }),
});
/** First days of the current windows. */
const startsOf = (nowMs: number) => (["day", "week", "month"] as const).map((window) => endUserWindowFrom(window, nowMs));
const NEWEST = Number.MAX_SAFE_INTEGER;

const daysIn = ({ items, json }: Dialect): string =>
  `SELECT d.end_user_seq AS seq, d.day, d.succeeded, d.failed, d.charged_credits AS "chargedCredits"
   FROM ${items(json("CAST(?2 AS text)"), "j")} JOIN end_user u ON u.seq = CAST(j.value AS bigint) AND u.account_seq = ?1
   JOIN end_user_day d ON d.end_user_seq = u.seq AND d.day BETWEEN ?3 AND ?4 WHERE d.succeeded + d.failed > 0 ORDER BY d.day, d.end_user_seq`;

export const endUserReads = (query: Query, dialect: Dialect): EndUserReads => ({
  endUserDays: async ({ accountSeq, seqs, fromDay, toDay }) =>
    seqs.length === 0 ? [] : query<EndUserDayRow>(daysIn(dialect), accountSeq, JSON.stringify(seqs), fromDay, toDay),
  endUser: async (accountSeq, name, nowMs) =>
    (await query<Stored>(ONE, accountSeq, ...startsOf(nowMs), endUserTerm(name))).map(toRow)[0],
  endUsers: async (accountSeq, nowMs, beforeSeq, limit) =>
    (await query<Stored>(PAGE, accountSeq, ...startsOf(nowMs), beforeSeq ?? NEWEST, limit)).map(toRow),
  endUserUsage: async ({ accountSeq, fromDay, toDay, beforeSeq, limit, maxExamined }) => {
    const examined = [accountSeq, beforeSeq ?? NEWEST, maxExamined] as const;
    // One more than the page, which decides whether there is a next one.
    const [rows, [end]] = await Promise.all([
      query<EndUserUsageRow>(USAGE, ...examined, fromDay, toDay, limit + 1),
      query<{ seq: number | null; n: number }>(END_OF_EXAMINED, ...examined),
    ]);
    const shown = rows.slice(0, limit);
    if (rows.length > limit) return { rows: shown, next: shown.at(-1)?.seq ?? null };
    return { rows: shown, next: end && end.n === maxExamined ? end.seq : null };
  },
});
