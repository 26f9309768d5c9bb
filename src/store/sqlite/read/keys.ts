// Reads keys: their terms, when they were last used, and what they have spent.
import type { Database } from "bun:sqlite";
import { dayOf, windowFrom } from "../../../days.ts";
import type { Credits } from "../../../terms.ts";
import type { KeyRow, KeySpend, StoreReads } from "../../store.ts";
import { parsed } from "./record.ts";

type Reads = Pick<StoreReads, "keys" | "keySpend">;
type StoredKey = Omit<KeyRow, "models" | "limits"> & { models: string | null } & Record<"day" | "week" | "month", Credits | null>;
type StoredSpend = Record<"day" | "week" | "month", Credits> & { id: string; isMetered: number; last30Credits: Credits };

const OF_KEY = `FROM api_key k JOIN account a ON a.seq = k.account_seq LEFT JOIN key_terms t ON t.key_seq = k.seq
  LEFT JOIN meter m ON m.seq = t.meter_seq`;
const KEY = `SELECT k.id, a.id AS accountId, k.scope, k.name, k.start, k.created_at_ms AS createdAtMs, k.revoked_at_ms AS revokedAtMs,
  t.expires_at_ms AS expiresAtMs, t.models, m.day_limit_credits AS day, m.week_limit_credits AS week, m.month_limit_credits AS month,
  (SELECT last_used_at_ms FROM key_use WHERE key_seq = k.seq) AS lastUsedAtMs,
  (SELECT id FROM api_key WHERE seq = t.rotated_from) AS rotatedFrom ${OF_KEY}`;
/** Days that are told as one sum, today's among them. */
const TOLD_DAYS = 30;

const toKey = ({ day, week, month, models, ...row }: StoredKey): KeyRow => ({
  ...row,
  models: parsed<string[]>(models),
  limits: { day, week, month },
});

const openKeyReads = (db: Database): Reads => {
  // Those of playgrounds are nobody's to see; told by what they begin with, which an older schema has as well.
  const keys = db.prepare<StoredKey, []>(`${KEY} WHERE k.start <> 'console' ORDER BY k.seq`);
  const keysOf = db.prepare<StoredKey, [string]>(`${KEY} WHERE a.id = ?1 AND k.start <> 'console' ORDER BY k.seq`);
  const since = (day: string) =>
    `coalesce((SELECT sum(credits) FROM key_spend s WHERE s.meter_seq = m.seq AND s.day >= ${day}), 0)`;
  const spend = db.prepare<StoredSpend, [string | null, number, number, number, number]>(
    `SELECT k.id, coalesce(m.day_limit_credits, m.week_limit_credits, m.month_limit_credits) IS NOT NULL AS isMetered, ${since("?2")} AS day, ${since("?3")} AS week, ${since("?4")} AS month,
       coalesce(u.credits, 0) + coalesce(o.credits, 0) AS last30Credits ${OF_KEY}
     LEFT JOIN (SELECT key_seq, sum(charged_credits) AS credits FROM usage_day WHERE day >= ?5 GROUP BY key_seq) u ON u.key_seq = k.seq
     LEFT JOIN (SELECT key_seq, sum(reserved_credits) AS credits FROM generation WHERE completed_at_ms IS NULL GROUP BY key_seq) o
       ON o.key_seq = k.seq
     WHERE ?1 IS NULL OR a.id = ?1`,
  );
  return {
    keys: async (accountId) => (accountId === undefined ? keys.all() : keysOf.all(accountId)).map(toKey),
    keySpend: async (nowMs, accountId) => {
      const [day, week, month] = [windowFrom("day", nowMs), windowFrom("week", nowMs), windowFrom("month", nowMs)];
      const rows = spend.all(accountId ?? null, day, week, month, dayOf(nowMs) - TOLD_DAYS + 1);
      return new Map(
        rows.map(({ id, isMetered, last30Credits, ...windows }): [string, KeySpend] => [
          id,
          { windows: isMetered === 1 ? windows : null, last30Credits },
        ]),
      );
    },
  };
};

/** The statements are made when they are first asked: a start does not wait for what only people look at. */
export const prepareKeyReads = (db: Database): Reads => {
  let made: Reads | undefined;
  const reads = (): Reads => {
    made ??= openKeyReads(db);
    return made;
  };
  return {
    keys: (accountId) => reads().keys(accountId),
    keySpend: (nowMs, accountId) => reads().keySpend(nowMs, accountId),
  };
};
