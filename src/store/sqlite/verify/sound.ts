// Invariants 11 and 12: everything is its own account's, the file is sound, and owners followed each other.
import type { Database } from "bun:sqlite";
import { MIGRATIONS, schemaVersion } from "../migrate.ts";
import { pragma } from "../open.ts";
import { type Check, check, MOST_ROWS, rowsOf } from "./check.ts";

/** 11. What answers, logs and links held is for tests to show; here: rows that belong together belong to one account. */
const ownRows = check(11, "own data only", [
  [
    "the movement is not of its generation's account",
    `SELECT m.seq AS movement, g.id AS generation FROM movement m LEFT JOIN generation g ON g.seq = m.generation_seq
     WHERE m.generation_seq IS NOT NULL AND g.account_seq IS NOT m.account_seq`,
  ],
  [
    "the key it was submitted with is not of its account",
    `SELECT g.id AS generation, k.id AS key FROM submission s JOIN generation g ON g.seq = s.seq LEFT JOIN api_key k ON k.seq = s.key_seq
     WHERE k.account_seq IS NOT g.account_seq`,
  ],
  [
    "the row is of a generation that is not there",
    `SELECT 'attempt' AS row, seq FROM attempt WHERE seq NOT IN (SELECT seq FROM generation)
     UNION ALL SELECT 'journal', seq FROM journal WHERE seq NOT IN (SELECT seq FROM generation)
     UNION ALL SELECT 'snapshot', seq FROM snapshot WHERE seq NOT IN (SELECT seq FROM generation)`,
  ],
  [
    "more of an API key is stored than its hash and its first characters",
    `SELECT id AS key FROM api_key WHERE length(start) > 20 OR length(hash) <> 64 OR hash GLOB '*[^0-9a-f]*'`,
  ],
]);

/**
 * 12. Over a connection that only reads, SQLite's own check leaves CHECK constraints out; the shapes they hold are in 10.
 * `synchronous` belongs to the writer's connection and is asserted when it opens; a file shows its journal mode, its
 * version, and the epochs that wrote into it: none that never opened it, none after its successor's first write.
 */
const soundStore: Check = {
  invariant: 12,
  name: "sound store, one owner",
  *offending(seen) {
    for (const row of seen.db.query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${MOST_ROWS})`).iterate())
      if (row.integrity_check !== "ok") yield { fault: "the file is damaged", detail: row.integrity_check };
    for (const row of seen.db
      .query<{ table: string; rowid: number | null; parent: string }, []>("PRAGMA foreign_key_check")
      .iterate())
      yield { fault: "the row refers to one that is not there", table: row.table, rowid: row.rowid, parent: row.parent };
    yield* wrongSettings(seen.db);
    yield* rowsOf(
      seen,
      "the row was written by an epoch that never opened the file",
      `SELECT 'movement' AS row, seq, epoch FROM movement WHERE epoch NOT IN (SELECT epoch FROM owner)
       UNION ALL SELECT 'journal', seq, epoch FROM journal WHERE epoch NOT IN (SELECT epoch FROM owner)`,
    );
    yield* rowsOf(
      seen,
      "an epoch wrote after its successor had begun to",
      `SELECT seq AS movement, epoch FROM (SELECT seq, epoch, max(epoch) OVER (ORDER BY seq) AS newest FROM movement) WHERE epoch < newest
       UNION ALL SELECT b.seq, b.epoch FROM journal a JOIN journal b ON b.seq = a.seq AND b.version = a.version + 1 WHERE b.epoch < a.epoch`,
    );
    yield* rowsOf(
      seen,
      "the epochs do not follow each other",
      "SELECT count(*) AS openings, max(epoch) AS last FROM owner HAVING count(*) <> max(epoch) OR count(*) = 0",
    );
  },
};

const wrongSettings = function* (db: Database) {
  const mode = pragma(db, "journal_mode");
  if (mode !== "wal" && mode !== "memory") yield { fault: "the journal mode is not WAL", journal_mode: mode };
  if (pragma(db, "foreign_keys") !== "1") yield { fault: "foreign keys are off" };
  const version = schemaVersion(db);
  if (!MIGRATIONS.some(({ n }) => n === version)) yield { fault: "the schema is of no known version", user_version: version };
};

export const SOUND_CHECKS = [ownRows, soundStore] as const;
