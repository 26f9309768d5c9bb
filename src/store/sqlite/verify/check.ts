// What a check of an invariant is: a name and its clauses, each a query whose rows offend.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../terms.ts";
import { schemaVersion } from "../migrate.ts";

/** At most this many offending rows of an invariant are told. */
export const MOST_ROWS = 20;

/** `nowMs` null: the service is not running, so what is overdue does not count. */
export type Seen = { db: Database; nowMs: number | null };

/** One thing that may not be: the sentences its rows are told with, and the rows of which they are true. */
export type Clause = {
  faults: readonly string[];
  offending(seen: Seen): Iterable<JsonObject & { fault: string }>;
  /** Takes several times as long as others, so that of many at once it is begun first. */
  isLong?: true;
};
export type Check = { invariant: number; name: string; clauses: readonly Clause[] };

/** The rows a query finds. It selects offenders only, and names enough to find them by. `$now` in it is the time. */
const rowsOf = function* (seen: Seen, fault: string, sql: string): Generator<JsonObject & { fault: string }> {
  // Cached by its text: every connection has the same few dozen checks.
  const statement = seen.db.query<JsonObject, { now: number }[]>(sql);
  const rows = sql.includes("$now") ? statement.iterate({ now: seen.nowMs ?? 0 }) : statement.iterate();
  for (const row of rows) yield { fault, ...row };
};

/** A clause that is one query. */
export const clause = (fault: string, sql: string): Clause => ({
  faults: [fault],
  offending: (seen) => rowsOf(seen, fault, sql),
});

/** A clause of tables that a step of the schema brought: a copy of before it is checked as well. `before`: what is checked of that. */
export const clauseSince = (step: number, fault: string, sql: string, before?: string): Clause => ({
  faults: [fault],
  offending: (seen) => {
    const fitting = schemaVersion(seen.db) < step ? before : sql;
    return fitting === undefined ? [] : rowsOf(seen, fault, fitting);
  },
});

/** Clauses that read the same rows, as one query: it selects which of the sentences is true of a row as `fault`, the first where several are. */
export const clauses = (faults: readonly [string, ...string[]], sql: string): Clause => ({
  faults,
  offending: (seen) => rowsOf(seen, faults[0], sql),
});

/** A clause that means something only while a service runs that should have seen to it. */
export const whileRunning = (fault: string, sql: string): Clause => ({
  faults: [fault],
  offending: (seen) => (seen.nowMs === null ? [] : rowsOf(seen, fault, sql)),
});

/** A clause about a table that files of older schemas, as backups keep them, do not have yet. */
export const whereThere = (table: string, fault: string, sql: string): Clause => ({
  faults: [fault],
  offending: (seen) => {
    const isThere = seen.db.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1").get(table) !== null;
    return isThere ? rowsOf(seen, fault, sql) : [];
  },
});
