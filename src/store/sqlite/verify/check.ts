// What a check of an invariant is: a name, and queries whose rows offend.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../terms.ts";

/** At most this many offending rows of an invariant are told. */
export const MOST_ROWS = 20;

/** `nowMs` null: the service is not running, so what is overdue does not count. */
export type Seen = { db: Database; nowMs: number | null };
export type Check = { invariant: number; name: string; offending(seen: Seen): Iterable<JsonObject> };

/**
 * The rows a query finds, each with what is wrong with it. A query selects offenders only, and selects names enough to find
 * them by. `$now` in it is the time.
 */
export const rowsOf = function* (seen: Seen, fault: string, sql: string): Generator<JsonObject> {
  // Cached by its text: every connection has the same few dozen checks.
  const statement = seen.db.query<JsonObject, { now: number }[]>(sql);
  const rows = sql.includes("$now") ? statement.iterate({ now: seen.nowMs ?? 0 }) : statement.iterate();
  for (const row of rows) yield { fault, ...row };
};

/** An invariant that is a list of queries. */
export const check = (invariant: number, name: string, queries: readonly (readonly [fault: string, sql: string])[]): Check => ({
  invariant,
  name,
  *offending(seen) {
    for (const [fault, sql] of queries) yield* rowsOf(seen, fault, sql);
  },
});
