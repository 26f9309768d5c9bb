// How SQLite runs a clause: over one connection, row by row, on the state of the database that a transaction sees.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../domain/types.ts";
import { type Clause, type Offender, offenderOf, statementOf } from "../../sql/verify/check.ts";
import { schemaVersion } from "../migrate.ts";
import { SQLITE } from "../sql-program.ts";

/** `nowMs` null: the service is not running, so what is overdue does not count. */
export type Seen = { db: Database; nowMs: number | null };

/** The sentences that rows are told with, and the rows of which they are true. */
export type Runnable = {
  faults: readonly string[];
  offending(seen: Seen): Iterable<Offender>;
  /** Takes several times as long as others, so that of many at once it is begun first. */
  isLong?: true;
  /** Its rows are no faults. */
  isNote?: true;
};

export const runnable = (clause: Clause): Runnable => ({
  faults: clause.faults,
  ...(clause.isNote ? { isNote: true as const } : {}),
  *offending({ db, nowMs }) {
    const statement = statementOf(clause, SQLITE, nowMs, schemaVersion(db));
    if (!statement) return;
    // Cached by its text: every connection has the same few dozen checks.
    for (const row of db.query<JsonObject, typeof statement.values>(statement.sql).iterate(...statement.values)) {
      const offender = offenderOf(clause, row);
      if (offender) yield offender;
    }
  },
});
