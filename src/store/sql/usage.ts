// Usage roll-up: adds ended generations by day, account, key and model, in bounded runs.
import { dayOf, waitBucket } from "../../domain/calendar.ts";
import type { AdminResult, RollUpUsage } from "../../domain/mutations.ts";
import { monthDayOf } from "../../domain/spend-alert.ts";
import type { Dialect } from "./dialect.ts";
import type { AddedSpend, SpendAlerts } from "./spend-alerts.ts";
import { all, change, first, type SqlProgram } from "./sql-program.ts";

type Ended = {
  accountSeq: number;
  keySeq: number;
  model: string;
  succeeded: number;
  costCredits: number;
  createdAtMs: number;
  completedAtMs: number;
  outcome: string;
  routeId: string;
  costMicroUsd: number | null;
};
type Spent = { keySeq: number; day: number; credits: number };
type Sum = { key: readonly [number, number, number, string, number]; sums: [number, number, number, number] };
type Outcome = { key: readonly [hour: number, outcome: string, routeId: string]; sums: [number, number, number, number] };

/** The transfer up to which usage is rolled up. Transfers covered by a mark are committed in row order. */
export type UsageMark = {
  /** Statement that selects the mark as `upTo`; no row before the first roll-up. */
  select: string;
  /** Statement that sets the mark to `?1`. */
  set: string;
  /** Condition on `transfer p`: it is covered by the mark. */
  where: string;
};

/** A run is one statement, because hundreds of statements would delay submissions. */
const addTo = (table: string, columns: readonly string[], { numbered }: Dialect, added: string): string =>
  `INSERT INTO ${table} SELECT ${columns.join(", ")} FROM ${numbered("CAST(?1 AS text)", "x")} WHERE true ORDER BY x.key ${added}`;
const text = (at: number): string => `x.value ->> ${at}`;
const number = (at: number): string => `CAST(x.value ->> ${at} AS bigint)`;
const USAGE = [number(0), number(1), number(2), text(3), ...[4, 5, 6, 7, 8].map(number)];
const ADD = `ON CONFLICT (day, account_seq, key_seq, model, wait) DO UPDATE SET
    succeeded = usage_daily.succeeded + excluded.succeeded, failed = usage_daily.failed + excluded.failed,
    charged_credits = usage_daily.charged_credits + excluded.charged_credits, wait_ms = usage_daily.wait_ms + excluded.wait_ms`;
const OUTCOMES = [number(0), text(1), text(2), ...[3, 4, 5, 6].map(number)];
const ADD_OUTCOMES = `ON CONFLICT (hour, outcome, route_id) DO UPDATE SET
    generations = outcome_hourly.generations + excluded.generations,
    charged_credits = outcome_hourly.charged_credits + excluded.charged_credits,
    cost_micro_usd = outcome_hourly.cost_micro_usd + excluded.cost_micro_usd,
    uncosted_credits = outcome_hourly.uncosted_credits + excluded.uncosted_credits`;
const SPENT = [0, 1, 2].map(number);
const ADD_SPENT = "ON CONFLICT (key_seq, day) DO UPDATE SET credits = settled_spend_by_day.credits + excluded.credits";

const inOrder = <T>(named: ReadonlyMap<string, T>): T[] =>
  [...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);

const HOUR_MS = 3_600_000;

/** Sums ended generations by hour, outcome and route. */
const outcomesOf = (ended: readonly Ended[]): (readonly (string | number)[])[] => {
  const outcomes = new Map<string, Outcome>();
  for (const { completedAtMs, outcome, routeId, costCredits, costMicroUsd } of ended) {
    const key = [Math.floor(completedAtMs / HOUR_MS), outcome, routeId] as const;
    const one = outcomes.get(key.join(" ")) ?? { key, sums: [0, 0, 0, 0] };
    outcomes.set(key.join(" "), one);
    one.sums[0] += 1;
    one.sums[1] += costCredits;
    one.sums[2] += costMicroUsd ?? 0;
    one.sums[3] += costMicroUsd === null ? costCredits : 0;
  }
  return inOrder(outcomes).map(({ key, sums }) => [...key, ...sums]);
};

/** The newest end of a charged generation of each account and month. */
const spendsOf = (ended: readonly Ended[]): AddedSpend[] => {
  const spends = new Map<string, AddedSpend>();
  for (const { accountSeq, costCredits, completedAtMs } of ended) {
    if (costCredits === 0) continue;
    const monthDay = monthDayOf(completedAtMs);
    const name = `${accountSeq} ${monthDay}`;
    const atMs = Math.max(completedAtMs, spends.get(name)?.atMs ?? 0);
    spends.set(name, { accountSeq, monthDay, atMs });
  }
  return [...spends.values()];
};

export const prepareUsage = (dialect: Dialect, mark: UsageMark, spendAlerts: Pick<SpendAlerts, "added">) => {
  const add = addTo("usage_daily", USAGE, dialect, ADD);
  const addSpent = addTo("settled_spend_by_day", SPENT, dialect, ADD_SPENT);
  const addOutcomes = addTo("outcome_hourly", OUTCOMES, dialect, ADD_OUTCOMES);
  const planned = `SELECT CAST(r.value ->> 'costMicroUsd' AS bigint) FROM plan l, ${dialect.elements("l.routes", "r")}
    WHERE l.seq = g.plan_seq AND r.value ->> 'routeId' = a.route_id LIMIT 1`;
  const selectEnd = `SELECT max(seq) AS "upTo" FROM
    (SELECT p.seq FROM transfer p WHERE p.seq > ?1 AND ${mark.where} ORDER BY p.seq LIMIT ?2) next`;
  // A success has one capture and possibly a release of the rest; a failure has one release. The plus prevents SQLite from using
  // any index but that of the transfers, which are few.
  const selectEnded = `SELECT g.account_seq AS "accountSeq", g.key_seq AS "keySeq", g.model,
      CASE WHEN g.status = 'succeeded' THEN 1 ELSE 0 END AS succeeded, g.cost_credits AS "costCredits",
      g.created_at_ms AS "createdAtMs", g.completed_at_ms AS "completedAtMs",
      CASE g.status WHEN 'succeeded' THEN 'succeeded' ELSE coalesce(${dialect.json("g.error")} ->> 'code', '') END AS outcome,
      coalesce(a.route_id, '') AS "routeId", (${planned}) AS "costMicroUsd"
    FROM transfer p JOIN generation g ON g.seq = +p.generation_seq
      LEFT JOIN attempt a ON p.kind = 'capture' AND a.generation_seq = p.generation_seq AND a.attempt_no = p.attempt_no
    WHERE p.seq > ?1 AND p.seq <= ?2 AND ${mark.where} AND (p.kind = 'capture' OR g.status = 'failed')`;

  return function* ({ limit }: RollUpUsage): SqlProgram<AdminResult> {
    const from = (yield* first<{ upTo: number }>(mark.select))?.upTo ?? 0;
    const upTo = (yield* first<{ upTo: number | null }>(selectEnd, from, limit))?.upTo;
    if (typeof upTo !== "number") return { kind: "done", seq: from };
    // Summed in memory first: a day has few rows, and each is then written once.
    const sums = new Map<string, Sum>();
    const spent = new Map<string, Spent>();
    const ended = yield* all<Ended>(selectEnded, from, upTo);
    for (const one of ended) {
      const waitMs = one.completedAtMs - one.createdAtMs;
      const key = [dayOf(one.completedAtMs), one.accountSeq, one.keySeq, one.model, waitBucket(waitMs)] as const;
      const name = key.join(" ");
      const sum = sums.get(name) ?? { key, sums: [0, 0, 0, 0] };
      sum.sums[0] += one.succeeded;
      sum.sums[1] += 1 - one.succeeded;
      sum.sums[2] += one.costCredits;
      sum.sums[3] += waitMs;
      sums.set(name, sum);
      if (one.costCredits === 0) continue;
      // Limits count by the day of the submission, usage by the day of the end.
      const { keySeq } = one;
      const day = dayOf(one.createdAtMs);
      const before = spent.get(`${keySeq} ${day}`)?.credits ?? 0;
      spent.set(`${keySeq} ${day}`, { keySeq, day, credits: before + one.costCredits });
    }
    // All nodes use the same order, which avoids deadlocks.
    yield* change(add, JSON.stringify(inOrder(sums).map(({ key, sums: added }) => [...key, ...added])));
    yield* change(addOutcomes, JSON.stringify(outcomesOf(ended)));
    if (spent.size > 0)
      yield* change(addSpent, JSON.stringify(inOrder(spent).map(({ keySeq, day, credits }) => [keySeq, day, credits])));
    yield* change(mark.set, upTo);
    const spendReached = yield* spendAlerts.added(spendsOf(ended));
    return { kind: "done", seq: upTo, ...(spendReached.length > 0 ? { spendReached } : {}) };
  };
};
