// Queries of daily usage by day, model, account or key, and of hourly outcomes.
import type { OutcomeGrouping, OutcomeRow, StoreReads, UsageGrouping, UsageRow } from "../../store.ts";
import type { Query } from "../sql-program.ts";

type Reads = Pick<StoreReads, "usage" | "outcomes" | "usageBehind">;

/** The selected column and the grouping column. */
const OF: Record<UsageGrouping, [selected: string, grouped: string]> = {
  day: ["u.day", "u.day"],
  model: ["u.model", "u.model"],
  account: ["(SELECT id FROM account WHERE seq = u.account_seq)", "u.account_seq"],
  key: ["(SELECT id FROM api_key WHERE seq = u.key_seq)", "u.key_seq"],
};

const usageBy = (by: UsageGrouping): string => {
  const [selected, grouped] = OF[by];
  return `SELECT ${selected} AS "of", u.wait, CAST(sum(u.succeeded) AS bigint) AS succeeded, CAST(sum(u.failed) AS bigint) AS failed,
      CAST(sum(u.charged_credits) AS bigint) AS "chargedCredits", CAST(sum(u.wait_ms) AS bigint) AS "waitMs" FROM usage_daily u
    WHERE u.day BETWEEN ?1 AND ?2
      AND (CAST(?3 AS text) IS NULL OR u.account_seq = (SELECT seq FROM account WHERE id = CAST(?3 AS text)))
    GROUP BY ${grouped}, u.wait ORDER BY ${grouped}, u.wait`;
};
const OUTCOMES_OF: Record<OutcomeGrouping, string> = { hour: "u.hour", day: "u.hour / 24", route: "u.route_id" };
const outcomesBy = (by: OutcomeGrouping): string => `SELECT ${OUTCOMES_OF[by]} AS "of", u.outcome,
    CAST(sum(u.generations) AS bigint) AS generations, CAST(sum(u.charged_credits) AS bigint) AS "chargedCredits",
    CAST(sum(u.cost_micro_usd) AS bigint) AS "costMicroUsd", CAST(sum(u.uncosted_credits) AS bigint) AS "uncostedCredits"
  FROM outcome_hourly u WHERE u.hour BETWEEN ?1 AND ?2 GROUP BY 1, 2 ORDER BY 1, 2`;
/** @param behind The statement that counts the transfers that are not rolled up yet. */
export const usageReads = (query: Query, behind: string): Reads => ({
  usage: ({ fromDay, toDay, accountId, by }) => query<UsageRow>(usageBy(by), fromDay, toDay, accountId),
  outcomes: ({ fromHour, toHour, by }) => query<OutcomeRow>(outcomesBy(by), fromHour, toHour),
  usageBehind: async () => (await query<{ behind: number }>(behind))[0]?.behind ?? 0,
});
