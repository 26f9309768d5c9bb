// Reads what generations came to, by day, model, account or key.
import type { Database } from "bun:sqlite";
import type { StoreReads, UsageBy, UsageRow } from "../../store.ts";

type Reads = Pick<StoreReads, "usage" | "usageBehind">;

/** What a row is told for, and what it is grouped by. */
const OF: Record<UsageBy, [told: string, grouped: string]> = {
  day: ["u.day", "u.day"],
  model: ["u.model", "u.model"],
  account: ["(SELECT id FROM account WHERE seq = u.account_seq)", "u.account_seq"],
  key: ["(SELECT id FROM api_key WHERE seq = u.key_seq)", "u.key_seq"],
};

/** The statements are made when they are first asked: a start does not wait for what only people look at. */
export const prepareUsageReads = (db: Database): Reads => ({
  usage: async ({ fromDay, toDay, accountId, by }) => {
    const [told, grouped] = OF[by];
    return db
      .query<UsageRow, [number, number, string | null]>(
        `SELECT ${told} AS "of", u.wait, sum(u.succeeded) AS succeeded, sum(u.failed) AS failed, sum(u.charged_credits) AS chargedCredits,
           sum(u.wait_ms) AS waitMs FROM usage_day u
         WHERE u.day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR u.account_seq = (SELECT seq FROM account WHERE id = ?3))
         GROUP BY ${grouped}, u.wait ORDER BY ${grouped}, u.wait`,
      )
      .all(fromDay, toDay, accountId);
  },
  usageBehind: async () =>
    db
      .query<{ behind: number }, []>(
        `SELECT coalesce((SELECT max(seq) FROM posting), 0)
           - coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'usage_up_to'), 0) AS behind`,
      )
      .get()?.behind ?? 0,
});
