// Verifies the thirteen invariants of PostgreSQL on one state while nodes are running.

import type { Value } from "../sql/sql-program.ts";
import { type Clause, clause } from "../sql/verify/check.ts";
import { checksOf } from "../sql/verify/checks.ts";
import { chains, type Rows, runnable, verifyOver } from "../sql/verify/run-async.ts";
import type { CheckResult } from "../store.ts";
import { type Address, type Connection, connect } from "./connections.ts";
import { faultText, isLost } from "./errors.ts";
import { MIGRATIONS } from "./migrate.ts";
import { POSTGRES } from "./sql-program.ts";

/** Epochs before this one were consecutive; later ones write concurrently. */
const SHARED_FROM = "coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'shared_from_epoch'), 0)";

/** Condition on `pg_class c`: it is in the schema of our tables. */
const OURS = "c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = CAST('transfer' AS regclass))";
/** Triggers and indexes that the schema migrations create by name; constraints inside a table exist as long as the table. */
const GUARDS = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/^CREATE (?:TRIGGER|UNIQUE INDEX) (\w+)/gm)].map((found) => found[1] ?? ""),
);

/** The required writer of an event: the node of the last takeover, else the node that accepted the generation. */
const owners: readonly Clause[] = [
  clause(
    "the event was written by a node that did not own the generation",
    `SELECT g.id AS generation, j.version, j.epoch FROM generation_event j JOIN generation g ON g.seq = j.generation_seq
     WHERE j.epoch <> coalesce((SELECT c.epoch FROM ownership_change c WHERE c.generation_seq = j.generation_seq AND c.from_version < j.version ORDER BY c.change_no DESC LIMIT 1),
         g.hold_epoch)
       AND NOT (j.epoch < ${SHARED_FROM}
         AND j.epoch >= coalesce((SELECT b.epoch FROM generation_event b WHERE b.generation_seq = j.generation_seq AND b.version = j.version - 1), g.hold_epoch))`,
  ),
  clause(
    "the settlement was not written with the last event",
    `SELECT g.id AS generation, p.kind, p.epoch FROM transfer p JOIN generation g ON g.seq = p.generation_seq
     WHERE p.epoch IS DISTINCT FROM (SELECT j.epoch FROM generation_event j WHERE j.generation_seq = p.generation_seq ORDER BY j.version DESC LIMIT 1)`,
  ),
  clause(
    "an ownership change does not follow its predecessor, or the former node had not ended",
    `SELECT c.generation_seq, c.change_no, c.epoch FROM ownership_change c
     LEFT JOIN ownership_change b ON b.generation_seq = c.generation_seq AND b.change_no = c.change_no - 1 JOIN generation g ON g.seq = c.generation_seq
     JOIN node o ON o.epoch = coalesce(b.epoch, g.hold_epoch)
     WHERE (c.change_no > 1 AND b.change_no IS NULL) OR b.from_version > c.from_version OR o.ended_at_ms IS NULL OR o.ended_at_ms > c.at_ms`,
  ),
  clause(
    "an open node has no lease, or an ended node has one",
    `SELECT o.epoch FROM node o LEFT JOIN lease l ON l.epoch = o.epoch WHERE (o.ended_at_ms IS NULL) <> (l.epoch IS NOT NULL)`,
  ),
  clause(
    "a trigger or index is missing or disabled, or a constraint was never validated",
    `SELECT CAST(NULL AS text) AS "table", w.guard FROM unnest(CAST('{${GUARDS.join(",")}}' AS text[])) AS w (guard)
       WHERE NOT EXISTS (SELECT 1 FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE t.tgname = w.guard AND ${OURS})
         AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = w.guard AND i.indisvalid AND ${OURS})
     UNION ALL SELECT c.relname AS "table", t.tgname AS guard FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
       WHERE ${OURS} AND t.tgenabled <> 'O'
     UNION ALL SELECT c.relname, k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
       WHERE ${OURS} AND NOT k.convalidated`,
  ),
  clause(
    "commits are confirmed before they reach the disk",
    `SELECT name, setting FROM pg_settings WHERE (name = 'fsync' AND setting = 'off') OR (name = 'full_page_writes' AND setting = 'off')`,
  ),
];

export const CHECKS = checksOf(runnable, { 1: [chains], 12: owners.map(runnable) });

const PAGE = 2000;

/**
 * Streams the rows of a statement in pages. A cursor takes no parameters; clauses have only times, which are inserted as numbers.
 */
export const rowsOn = (line: Connection): Rows => {
  let cursors = 0;
  return async function* <Row>(sql: string, ...values: Value[]): AsyncGenerator<Row> {
    cursors += 1;
    const name = `clause_${cursors}`;
    const text = sql.replace(/\?(\d+)/g, (_, n: string) => String(Number(values[Number(n) - 1])));
    await line.script("SAVEPOINT clause");
    try {
      await line.script(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`);
      for (;;) {
        const { rows } = await line.send<Row>(`FETCH ${PAGE} FROM ${name}`);
        yield* rows;
        if (rows.length < PAGE) return;
      }
    } finally {
      await line.script("ROLLBACK TO clause; RELEASE clause");
    }
  };
};

/**
 * A cursor is planned for the first tenth of its rows, but a clause is read to its end and usually has no rows. A plan for a fast
 * start would compare every open generation with every other.
 */
const READ_TO_THE_END = "SET LOCAL cursor_tuple_fraction = 1";

/** Runs the checks inside the open transaction of a connection. */
export const verifyOn = async (
  line: Connection,
  nowMs: number | null,
  report?: (done: number, of: number, soFar: CheckResult[]) => void,
): Promise<CheckResult[]> => {
  const reasonOf = (fault: unknown): string => {
    if (isLost(fault)) throw fault;
    return faultText(fault);
  };
  await line.script(READ_TO_THE_END);
  return await verifyOver(CHECKS, { rows: rowsOn(line), words: POSTGRES, nowMs, reasonOf }, report);
};

/** @param nowMs Null: no node is running, so overdue deadlines are not checked. @throws if the database does not answer. */
export const verifyPostgres = async (
  address: Address,
  nowMs: number | null,
  report?: (done: number, of: number, soFar: CheckResult[]) => void,
): Promise<CheckResult[]> => {
  const line = await connect(address);
  try {
    await line.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    return await verifyOn(line, nowMs, report);
  } finally {
    line.close();
  }
};
