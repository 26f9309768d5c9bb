// Queries of daily usage by day, model, account or key, and of hourly outcomes.
import type { OutcomeGrouping, OutcomeRow, StoreReads, UsageDayRow, UsageGrouping, UsageQuery, UsageRow } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";

type Reads = Pick<StoreReads, "usage" | "usageByDay" | "outcomes" | "usageBehind">;

/** The selected column and the grouping column. */
const OF: Record<UsageGrouping, [selected: string, grouped: string]> = {
  day: ["u.day", "u.day"],
  model: ["u.model", "u.model"],
  account: ["(SELECT id FROM account WHERE seq = u.account_seq)", "u.account_seq"],
  key: ["(SELECT id FROM api_key WHERE seq = u.key_seq)", "u.key_seq"],
};

const matching = (parameter: number, condition: (text: string) => string): string =>
  `(CAST(?${parameter} AS text) IS NULL OR ${condition(`CAST(?${parameter} AS text)`)})`;
const WHERE = `u.day BETWEEN ?1 AND ?2 AND ${matching(3, (id) => `u.account_seq = (SELECT seq FROM account WHERE id = ${id})`)}
      AND ${matching(4, (model) => `u.model = ${model}`)}
      AND ${matching(5, (id) => `u.key_seq = (SELECT seq FROM api_key WHERE id = ${id})`)}`;
const sumOf = (column: string, name = column): string => `CAST(sum(u.${column}) AS bigint) AS "${name}"`;
const SUMS = [sumOf("succeeded"), sumOf("failed"), sumOf("charged_credits", "chargedCredits")].join(", ");

const usageBy = (by: UsageGrouping): string => {
  const [selected, grouped] = OF[by];
  return `SELECT ${selected} AS "of", u.wait, ${SUMS}, ${sumOf("wait_ms", "waitMs")} FROM usage_daily u
    WHERE ${WHERE} GROUP BY ${grouped}, u.wait ORDER BY ${grouped}, u.wait`;
};
/** The condition that the group of a row is among the texts of `?6`. */
const AMONG: Record<UsageGrouping, (texts: string) => string> = {
  day: (texts) => `u.day IN (SELECT CAST(value AS bigint) FROM ${texts})`,
  model: (texts) => `u.model IN (SELECT CAST(value AS text) FROM ${texts})`,
  account: (texts) => `u.account_seq IN (SELECT seq FROM account WHERE id IN (SELECT CAST(value AS text) FROM ${texts}))`,
  key: (texts) => `u.key_seq IN (SELECT seq FROM api_key WHERE id IN (SELECT CAST(value AS text) FROM ${texts}))`,
};
const usageByDay = (by: UsageGrouping, { items, json }: Dialect): string => {
  const [selected, grouped] = OF[by];
  return `SELECT ${selected} AS "of", u.day, ${SUMS} FROM usage_daily u
    WHERE ${WHERE} AND ${AMONG[by](items(json("CAST(?6 AS text)"), "j"))}
    GROUP BY u.day, ${grouped} ORDER BY u.day, ${grouped}`;
};
const valuesOf = ({ fromDay, toDay, accountId, model = null, keyId = null }: UsageQuery) =>
  [fromDay, toDay, accountId, model, keyId] as const;

const OUTCOMES_OF: Record<OutcomeGrouping, string> = { hour: "u.hour", day: "u.hour / 24", route: "u.route_id" };
const outcomesBy = (by: OutcomeGrouping): string => `SELECT ${OUTCOMES_OF[by]} AS "of", u.outcome,
    CAST(sum(u.generations) AS bigint) AS generations, CAST(sum(u.charged_credits) AS bigint) AS "chargedCredits",
    CAST(sum(u.cost_micro_usd) AS bigint) AS "costMicroUsd", CAST(sum(u.uncosted_credits) AS bigint) AS "uncostedCredits"
  FROM outcome_hourly u WHERE u.hour BETWEEN ?1 AND ?2 GROUP BY 1, 2 ORDER BY 1, 2`;
/** @param behind The statement that counts the transfers that are not rolled up yet. */
export const usageReads = (query: Query, dialect: Dialect, behind: string): Reads => ({
  usage: (asked) => query<UsageRow>(usageBy(asked.by), ...valuesOf(asked)),
  usageByDay: async (asked, of) =>
    of.length === 0 ? [] : query<UsageDayRow>(usageByDay(asked.by, dialect), ...valuesOf(asked), JSON.stringify(of)),
  outcomes: ({ fromHour, toHour, by }) => query<OutcomeRow>(outcomesBy(by), fromHour, toHour),
  usageBehind: async () => (await query<{ behind: number }>(behind))[0]?.behind ?? 0,
});
