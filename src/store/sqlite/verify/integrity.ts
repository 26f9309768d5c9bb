// Clauses of invariant 12 for SQLite: file integrity, expected schema, consecutive writer epochs.
import { Database } from "bun:sqlite";
import { clause } from "../../sql/verify/check.ts";
import { MAX_ROWS } from "../../sql/verify/report.ts";
import { migrateCopy, SCHEMA_VERSION, schemaVersion } from "../migrate.ts";
import { pragma } from "../open.ts";
import { type Runnable, runnable } from "./check.ts";

const DAMAGED = "the file is damaged";
const integrity: Runnable = {
  isLong: true,
  faults: [DAMAGED],
  *offending({ db }) {
    for (const row of db.query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${MAX_ROWS})`).iterate())
      if (row.integrity_check !== "ok") yield { fault: DAMAGED, detail: row.integrity_check };
  },
};

const REFERS = "the row refers to a missing row";
const references: Runnable = {
  faults: [REFERS],
  *offending({ db }) {
    const rows = db.query<{ table: string; rowid: number | null; parent: string }, []>("PRAGMA foreign_key_check");
    for (const row of rows.iterate()) yield { fault: REFERS, table: row.table, rowid: row.rowid, parent: row.parent };
  },
};

/** Ignored for a snapshot connection, which uses no WAL whatever the file header contains. */
export const NOT_WAL = "the journal mode is not WAL";
const NO_KEYS = "foreign keys are off";
const NO_SYNC = "the writer does not synchronize each commit to the disk";
/** `synchronous` belongs to a connection, so it is checked only if the checking connection is the writer. */
const settings: Runnable = {
  faults: [NOT_WAL, NO_KEYS, NO_SYNC],
  *offending({ db }) {
    const mode = pragma(db, "journal_mode");
    if (mode !== "wal" && mode !== "memory") yield { fault: NOT_WAL, journal_mode: mode };
    if (pragma(db, "foreign_keys") !== "1") yield { fault: NO_KEYS };
    const sync = pragma(db, "synchronous");
    if (pragma(db, "query_only") === "0" && sync !== "2") yield { fault: NO_SYNC, synchronous: sync };
  },
};

const UNKNOWN_SCHEMA = "the schema version is unknown";
const OTHER_SCHEMA = "the schema differs from its version: an object is missing, changed or foreign";

/** Tables that Litestream creates in a database that it replicates. No code of genrouter uses them. */
const LITESTREAM: ReadonlyMap<string, string> = new Map([
  ["table _litestream_seq", "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"],
  ["table _litestream_lock", "CREATE TABLE _litestream_lock (id INTEGER)"],
]);

const isLitestreams = (part: string, sql: string | undefined): boolean => sql !== undefined && LITESTREAM.get(part) === sql;

type Part = { type: string; name: string; sql: string };
const partsOf = (db: Database): Map<string, string> =>
  new Map(
    db
      .query<Part, []>("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
      .all()
      .map(({ type, name, sql }) => [`${type} ${name}`, sql]),
  );

/** The objects that the migrations create; computed once. */
const expectedParts = (): Map<string, string> => {
  expected ??= ((): Map<string, string> => {
    using made = new Database(":memory:");
    migrateCopy(made, 0);
    return partsOf(made);
  })();
  return expected;
};
let expected: Map<string, string> | undefined;

/**
 * Compares the tables, indexes, views and triggers of the file with the schema that the migrations create in an empty database.
 */
const schema: Runnable = {
  faults: [UNKNOWN_SCHEMA, OTHER_SCHEMA],
  *offending({ db }) {
    const version = schemaVersion(db);
    if (version !== SCHEMA_VERSION) {
      yield { fault: UNKNOWN_SCHEMA, user_version: version };
      return;
    }
    const wanted = expectedParts();
    const found = partsOf(db);
    for (const part of new Set([...wanted.keys(), ...found.keys()]))
      if (wanted.get(part) !== found.get(part) && !isLitestreams(part, found.get(part)))
        yield { fault: OTHER_SCHEMA, part, found: found.has(part) ? (wanted.has(part) ? "changed" : "foreign") : "missing" };
  },
};

/** A file has one writer at a time: no epoch wrote after the first write of its successor. */
const epochs = [
  clause(
    "an epoch wrote after its successor",
    `SELECT seq AS transfer, epoch FROM (SELECT seq, epoch, max(epoch) OVER (ORDER BY seq) AS newest FROM transfer) WHERE epoch < newest
     UNION ALL SELECT -seq, epoch FROM (SELECT seq, hold_epoch AS epoch, max(hold_epoch) OVER (ORDER BY seq) AS newest FROM generation)
       WHERE epoch < newest
     UNION ALL SELECT b.generation_seq, b.epoch FROM (SELECT generation_seq FROM generation_event GROUP BY generation_seq HAVING min(epoch) < max(epoch)) crossed
       CROSS JOIN generation_event a ON a.generation_seq = crossed.generation_seq JOIN generation_event b ON b.generation_seq = a.generation_seq AND b.version = a.version + 1 WHERE b.epoch < a.epoch`,
  ),
  clause(
    "the epochs are not consecutive",
    "SELECT count(*) AS openings, max(epoch) AS last FROM writer_epoch HAVING count(*) IS NOT max(epoch) OR count(*) = 0",
  ),
].map(runnable);

/**
 * Over a read-only connection SQLite's own check skips CHECK constraints. Invariant 10 checks the conditions that they enforce.
 */
export const SOUND_FILE: readonly Runnable[] = [integrity, references, settings, schema, ...epochs];
