// Runs a clause over one SQLite connection, row by row, in its transaction.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../domain/types.ts";
import { type Clause, type Offender, offenderOf, statementOf } from "../../sql/verify/check.ts";
import { SQLITE } from "../sql-program.ts";

/** `nowMs` null: the service is not running, so overdue deadlines are not checked. */
export type Seen = { db: Database; nowMs: number | null };

/** The messages of a clause, and its violating rows. */
export type Runnable = {
  faults: readonly string[];
  offending(seen: Seen): Iterable<Offender>;
  /** It takes several times as long as the others, so it starts first. */
  isLong?: true;
  /** Its rows are not violations. */
  isNote?: true;
};

export const runnable = (clause: Clause): Runnable => ({
  faults: clause.faults,
  ...(clause.isNote ? { isNote: true as const } : {}),
  *offending({ db, nowMs }) {
    const statement = statementOf(clause, SQLITE, nowMs);
    if (!statement) return;
    // The statement is cached by its text, because every connection runs the same few dozen checks.
    for (const row of db.query<JsonObject, typeof statement.values>(statement.sql).iterate(...statement.values)) {
      const offender = offenderOf(clause, row);
      if (offender) yield offender;
    }
  },
});
