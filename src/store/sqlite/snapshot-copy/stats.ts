// Statistics of a database copy: counts, totals and the files that its rows name.
import type { Database } from "bun:sqlite";
import type { LedgerSums } from "../../store.ts";
import { lineageOf } from "../database-id.ts";
import { requireReadable, schemaVersion } from "../migrate.ts";
import { openReader, openSnapshot } from "../open.ts";

export type SnapshotStats = {
  schema: number;
  mode: "test" | "live";
  /** Epoch of the last writer. */
  epoch: number;
  /** Id that all copies of one database share. */
  lineage: string;
  createdAtMs: number;
  rows: Record<string, number>;
  ledger: LedgerSums;
};
/** A result file that a row names. */
export type NamedFile = { seq: number; id: string; n: number; sha256: string; bytes: number; expireAtMs: number };
/** A spooled file that an open attempt still has to collect; `name` within the spool. */
export type SpooledFile = { seq: number; name: string };
/** An open attempt, or an open generation without one (`n` null). */
export type UnfinishedRow = {
  generation: string;
  account: string;
  status: "queued" | "running";
  n: number | null;
  state: string | null;
  provider: string | null;
  job: string | null;
};

const one = <Row>(db: Database, sql: string): Row => db.query<Row, []>(sql).get() as Row;

const rowsOf = (db: Database): Record<string, number> => {
  const names = db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1",
    )
    .all();
  return Object.fromEntries(
    names.map(({ name }) => [name, one<{ n: number }>(db, `SELECT count(*) AS n FROM "${name.replaceAll('"', '""')}"`).n]),
  );
};

/** Totals of all balances and all transfers. */
export const ledgerOf = (db: Database): LedgerSums => {
  const sums = one<Omit<LedgerSums, "moved" | "movements">>(
    db,
    `SELECT coalesce(sum(available_credits), 0) AS available, coalesce(sum(held_credits), 0) AS held,
       coalesce(sum(charged_credits), 0) AS charged, coalesce(sum(owed_credits), 0) AS owed FROM balance`,
  );
  type Kind = { kind: string; times: number; credits: number };
  // Credits taken from an account count as negative.
  const kinds = db
    .query<Kind, []>(
      `SELECT kind, count(*) AS times, sum(iif(kind = 'adjust' AND from_side = 'available', -credits, credits)) AS credits
       FROM transfer_log GROUP BY kind ORDER BY kind`,
    )
    .all();
  return {
    ...sums,
    movements: kinds.reduce((all, { times }) => all + times, 0),
    moved: Object.fromEntries(kinds.map(({ kind, credits }) => [kind, credits])),
  };
};

/** All statistics of one state of the database; the caller provides the transaction. */
export const figuresOf = (db: Database): SnapshotStats => {
  const meta = new Map(
    db
      .query<{ name: string; value: string }, []>("SELECT name, value FROM meta")
      .all()
      .map(({ name, value }) => [name, value]),
  );
  return {
    schema: schemaVersion(db),
    mode: meta.get("mode") === "test" ? "test" : "live",
    epoch: one<{ epoch: number | null }>(db, "SELECT max(epoch) AS epoch FROM writer_epoch").epoch ?? 0,
    lineage: lineageOf(meta.get("secret") ?? ""),
    createdAtMs: Number(meta.get("created_at_ms") ?? 0),
    rows: rowsOf(db),
    ledger: ledgerOf(db),
  };
};

/** Runs work over a file without writers. */
export const statsOfSnapshot = <T>(path: string, work: (db: Database) => T): T => {
  const db = openSnapshot(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
};

/** Runs work over one state of a database that its owner may be writing. */
export const overLive = <T>(path: string, work: (db: Database) => T): T => {
  const db = openReader(path);
  try {
    requireReadable(db, path);
    db.run("BEGIN");
    return work(db);
  } finally {
    db.close();
  }
};

/** Stored result files, oldest generation first. */
export const namedFiles = (db: Database): NamedFile[] =>
  db
    .query<NamedFile, []>(
      `SELECT g.seq, g.id, f.value ->> 'n' AS n, f.value ->> 'sha256' AS sha256, f.value ->> 'bytes' AS bytes, g.files_expire_at_ms AS expireAtMs
       FROM generation g, json_each(g.output, '$.files') f
       WHERE g.files_expire_at_ms IS NOT NULL AND g.files_expired_at_ms IS NULL ORDER BY g.seq, f.key`,
    )
    .all();

/** Bytes of an uploaded file that are on local disk. */
export type NamedUpload = { seq: number; id: string; sha256: string; bytes: number };

/** A database of an earlier release has no uploaded files. */
const hasUploads = (db: Database): boolean =>
  db.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'upload_blob'").get() !== null;

const STORED_UPLOAD = "FROM upload_blob WHERE stored_at_ms IS NOT NULL AND retired_at_ms IS NULL";

/** Bytes of uploaded files on local disk, oldest first, and the number of those in the bucket. */
export const namedUploads = (db: Database): { onDisk: NamedUpload[]; inBucket: number } => {
  if (!hasUploads(db)) return { onDisk: [], inBucket: 0 };
  return {
    onDisk: db.query<NamedUpload, []>(`SELECT seq, id, sha256, bytes ${STORED_UPLOAD} AND object IS NULL ORDER BY seq`).all(),
    inBucket: one<{ n: number }>(db, `SELECT count(*) AS n ${STORED_UPLOAD} AND object IS NOT NULL`).n,
  };
};

/** Whether the bytes of an uploaded file are still needed. */
export const isUploadNeeded = (db: Database, seq: number): boolean =>
  db.query<object, [number]>(`SELECT 1 ${STORED_UPLOAD} AND seq = ?1`).get(seq) !== null;

/** @param scheme URL scheme of spooled files. */
export const spooledFiles = (db: Database, scheme: string): SpooledFile[] =>
  db
    .query<{ seq: number; url: string }, [string]>(
      `SELECT a.generation_seq AS seq, r.value ->> 'url' AS url FROM attempt_text a JOIN generation g ON g.seq = a.generation_seq, json_each(a.results) r
       WHERE g.completed_at_ms IS NULL AND a.results IS NOT NULL AND substr(r.value ->> 'url', 1, length(?1)) = ?1
       ORDER BY a.generation_seq, a.attempt_no, r.key`,
    )
    .all(scheme)
    .map(({ seq, url }) => ({ seq, name: url.slice(scheme.length) }));

/** Whether the database still needs the result files of a generation, and the spooled files of its attempts. */
export const neededFiles = (db: Database, seq: number): { files: boolean; spooled: boolean } => {
  const row = db
    .query<{ files: number; spooled: number }, [number]>(
      `SELECT files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL AS files, completed_at_ms IS NULL AS spooled
       FROM generation WHERE seq = ?1`,
    )
    .get(seq);
  return { files: row?.files === 1, spooled: row?.spooled === 1 };
};

/** Open generations with their open attempts. */
export const unfinishedRows = (db: Database): UnfinishedRow[] =>
  db
    .query<UnfinishedRow, []>(
      `SELECT g.id AS generation, c.id AS account, g.status, a.attempt_no AS n, a.state, a.provider, a.job_id AS job
       FROM generation g JOIN account c ON c.seq = g.account_seq
       LEFT JOIN attempt a ON a.generation_seq = g.seq AND a.state IN ('intent', 'sending', 'accepted')
       WHERE g.completed_at_ms IS NULL ORDER BY g.seq, a.attempt_no`,
    )
    .all();
