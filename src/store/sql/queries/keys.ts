// Queries of keys: policies, last use and spending.
import { dayOf, windowFrom } from "../../../domain/calendar.ts";
import type { Credits } from "../../../domain/types.ts";
import type { KeyRow, KeySpend, StoreReads } from "../../store.ts";
import type { Query } from "../sql-program.ts";
import { parsed } from "./record.ts";

type Reads = Pick<StoreReads, "key" | "keys" | "keySpend" | "keyWindows">;
type StoredKey = Omit<KeyRow, "models" | "limits"> & { models: string | null } & Record<"day" | "week" | "month", Credits | null>;
type StoredWindows = Record<"day" | "week" | "month", Credits> & { isMetered: number };
type StoredSpend = StoredWindows & { id: string; last30Credits: Credits };

const OF_KEY = `FROM api_key k JOIN account a ON a.seq = k.account_seq LEFT JOIN api_key_policy t ON t.key_seq = k.seq
  LEFT JOIN spend_limit m ON m.seq = t.spend_limit_seq`;
const KEY = `SELECT k.id, a.id AS "accountId", k.scope, k.name, k.prefix AS "start", k.created_at_ms AS "createdAtMs", k.revoked_at_ms AS "revokedAtMs",
  t.expires_at_ms AS "expiresAtMs", t.models, m.day_limit_credits AS day, m.week_limit_credits AS week, m.month_limit_credits AS month,
  (SELECT last_used_at_ms FROM api_key_last_used WHERE key_seq = k.seq) AS "lastUsedAtMs",
  (SELECT id FROM api_key WHERE seq = t.rotated_from) AS "rotatedFrom" ${OF_KEY}`;
/** Number of days in the reported sum, including today. */
const REPORTED_DAYS = 30;

const toKey = ({ day, week, month, models, ...row }: StoredKey): KeyRow => ({
  ...row,
  models: parsed<string[]>(models),
  limits: { day, week, month },
});

// Playground keys are hidden.
const KEYS = `${KEY} WHERE k.prefix <> 'console' ORDER BY k.seq`;
const KEYS_OF = `${KEY} WHERE a.id = ?1 AND k.prefix <> 'console' ORDER BY k.seq`;
const ONE_KEY = `${KEY} WHERE k.id = ?1 AND k.prefix <> 'console'`;
const since = (day: string): string =>
  `CAST(coalesce((SELECT sum(credits) FROM spend_by_day s WHERE s.spend_limit_seq = m.seq AND s.day >= ${day}), 0) AS bigint)`;
const WINDOWS = `CASE WHEN coalesce(m.day_limit_credits, m.week_limit_credits, m.month_limit_credits) IS NULL THEN 0 ELSE 1 END AS "isMetered",
    ${since("?2")} AS day, ${since("?3")} AS week, ${since("?4")} AS month`;
const WINDOWS_OF = `SELECT ${WINDOWS} ${OF_KEY} WHERE k.id = ?1`;
const SPEND = `SELECT k.id, ${WINDOWS},
    CAST(coalesce(u.credits, 0) + coalesce(o.credits, 0) AS bigint) AS "last30Credits" ${OF_KEY}
  LEFT JOIN (SELECT key_seq, sum(charged_credits) AS credits FROM usage_daily WHERE day >= ?5 GROUP BY key_seq) u ON u.key_seq = k.seq
  LEFT JOIN (SELECT key_seq, sum(reserved_credits) AS credits FROM generation WHERE completed_at_ms IS NULL GROUP BY key_seq) o
    ON o.key_seq = k.seq
  WHERE CAST(?1 AS text) IS NULL OR a.id = CAST(?1 AS text)`;

/** First days of the current windows. */
const startsOf = (nowMs: number) => [windowFrom("day", nowMs), windowFrom("week", nowMs), windowFrom("month", nowMs)] as const;

export const keyReads = (query: Query): Reads => ({
  key: async (id) => (await query<StoredKey>(ONE_KEY, id)).map(toKey)[0],
  keys: async (accountId) =>
    (await (accountId === undefined ? query<StoredKey>(KEYS) : query<StoredKey>(KEYS_OF, accountId))).map(toKey),
  keyWindows: async (keyId, nowMs) => {
    const [row] = await query<StoredWindows>(WINDOWS_OF, keyId, ...startsOf(nowMs));
    return row?.isMetered === 1 ? { day: row.day, week: row.week, month: row.month } : null;
  },
  keySpend: async (nowMs, accountId) => {
    const rows = await query<StoredSpend>(SPEND, accountId ?? null, ...startsOf(nowMs), dayOf(nowMs) - REPORTED_DAYS + 1);
    return new Map(
      rows.map(({ id, isMetered, last30Credits, ...windows }): [string, KeySpend] => [
        id,
        { windows: isMetered === 1 ? windows : null, last30Credits },
      ]),
    );
  },
});
