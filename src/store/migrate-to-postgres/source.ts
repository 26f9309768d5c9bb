// Source of a store migration: a locked data directory, read table by table.
import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { WrongSchema } from "../errors.ts";
import type { Value } from "../sql/sql-program.ts";
import { lineageOf } from "../sqlite/database-id.ts";
import { claimDirectory } from "../sqlite/directory-lock.ts";
import { DirectoryUnusable, withCorruptionErrors } from "../sqlite/errors.ts";
import { checkSchema, SCHEMA_VERSION } from "../sqlite/migrate.ts";
import { MIGRATED_MARKER, markMigrated, migratedTo, unmarkMigrated } from "../sqlite/migrated-marker.ts";
import { DATABASE_FILE, openReader, openWriter } from "../sqlite/open.ts";
import { openSqliteReads } from "../sqlite/reads.ts";
import { missLog, unmarkLog } from "../sqlite/wal-sentinel.ts";
import type { CheckResult } from "../store.ts";
import { type FileRow, fileRows, MIGRATED_TABLES, type MigratedTable, type Shape, type Sums, sumsOf } from "./tables.ts";

export type StoredFile = { seq: number; id: string; n: number; sha256: string; bytes: number; mime: string };

export type Source = {
  /** Identical for every copy of one service's database. */
  lineage: string;
  /** The target of an earlier migration; undefined if there was none. */
  movedTo: string | undefined;
  meta: ReadonlyMap<string, string>;
  newestEpoch: number;
  /** The last transfer that is rolled up. */
  usageUpTo: number;
  shapeOf(table: string): Shape;
  /** The rows of a table after a key, in key order. */
  rowsOf(table: string, after: readonly Value[] | null): Iterable<FileRow>;
  sums(): Map<string, Sums>;
  verify(report: (done: number, of: number) => void): Promise<CheckResult[]>;
  /** Unexpired result files after a generation; the files of one generation are never split. */
  keptFiles(afterSeq: number, nowMs: number, limit: number): StoredFile[];
  keptCount(nowMs: number): number;
  /** Stored bytes of uploaded files after a blob, as far as they are on local disk. */
  keptUploads(afterSeq: number, limit: number): StoredFile[];
  keptUploadsCount(): number;
  /** Data of the directory that is still needed besides the database and the result files. */
  leftHere(): { spooled: number; sealedKeys: number };
  mark(to: string, nowMs: number): void;
  unmark(): void;
  close(): void;
};

const shapeIn = (db: Database, { name: table, joined }: MigratedTable): Shape => {
  type Column = { name: string; type: string; pk: number };
  const own = db.query<Column, []>(`PRAGMA table_info(${table})`).all();
  const columns = [...own, ...(joined?.texts ?? []).map((name) => ({ name, type: "TEXT", pk: 0 }))];
  return {
    columns: columns.map(({ name }) => name),
    texts: columns.filter(({ type }) => type === "TEXT").map(({ name }) => name),
    key: columns
      .filter(({ pk }) => pk > 0)
      .toSorted((a, b) => a.pk - b.pk)
      .map(({ name }) => name),
  };
};

const rowsIn = (db: Database, from: string, { columns, key }: Shape, after: readonly Value[] | null): Iterable<FileRow> => {
  const behind = after === null ? "" : `WHERE (${key.join(", ")}) > (${key.map((_, at) => `?${at + 1}`).join(", ")})`;
  const sql = `SELECT ${columns.join(", ")} FROM ${from} ${behind} ORDER BY ${key.join(", ")}`;
  return db.query<FileRow, Value[]>(sql).iterate(...(after ?? []));
};

const KEPT = `SELECT g.seq, g.id, f.value ->> 'n' AS n, f.value ->> 'sha256' AS sha256, f.value ->> 'bytes' AS bytes,
    f.value ->> 'mime' AS mime
  FROM (SELECT seq, id, output FROM generation WHERE seq > ?1 AND files_expire_at_ms > ?2 AND files_expired_at_ms IS NULL
    ORDER BY seq LIMIT ?3) g, json_each(g.output, '$.files') f ORDER BY g.seq, f.key`;
const KEPT_COUNT = `SELECT coalesce(sum(json_array_length(output, '$.files')), 0) AS n FROM generation
  WHERE files_expire_at_ms > ?1 AND files_expired_at_ms IS NULL`;
const UPLOADS = "FROM upload_blob WHERE stored_at_ms IS NOT NULL AND retired_at_ms IS NULL AND object IS NULL";
const KEPT_UPLOADS = `SELECT seq, id, 1 AS n, sha256, bytes, mime ${UPLOADS} AND seq > ?1 ORDER BY seq LIMIT ?2`;
const SPOOLED = `SELECT count(*) AS n FROM attempt_text a JOIN generation g ON g.seq = a.generation_seq, json_each(a.results) r
  WHERE g.completed_at_ms IS NULL AND a.results IS NOT NULL AND r.value ->> 'url' LIKE 'spool:%'`;

/**
 * Locks a data directory and opens its database for the migration.
 * @throws DirectoryInUse, DirectoryUnusable, StoreDamaged, WrongSchema: one line each.
 */
export const openSource = (dir: string, networkDisk: boolean): Source => {
  const path = join(dir, DATABASE_FILE);
  if (!existsSync(path))
    throw new DirectoryUnusable(
      `data directory ${dir}: there is no database in it; name the directory the service was started with`,
    );
  const claim = claimDirectory(dir, { networkDisk, creation: false });
  let db: Database | undefined;
  try {
    missLog(dir);
    const open = withCorruptionErrors(path, () => openReader(path));
    db = open;
    const version = withCorruptionErrors(path, () => checkSchema(open));
    if (version < SCHEMA_VERSION)
      throw new WrongSchema(
        `the database of ${dir} has schema ${version} and this release has schema ${SCHEMA_VERSION}: start the service of this release once and stop it, then move`,
      );
    const one = <Row>(sql: string): Row => open.query<Row, []>(sql).get() as Row;
    const all = open.query<{ name: string; value: string }, []>("SELECT name, value FROM meta ORDER BY name").all();
    const meta = new Map(all.filter(({ name }) => !MIGRATED_MARKER.includes(name)).map(({ name, value }) => [name, value]));
    const shapes = new Map(MIGRATED_TABLES.map((table) => [table.name, shapeIn(open, table)]));
    const fromOf = new Map(MIGRATED_TABLES.map((table) => [table.name, fileRows(table)]));
    const shapeOf = (table: string): Shape => {
      const shape = shapes.get(table);
      if (!shape) throw new Error(`${table} is not moved`);
      return shape;
    };
    const writing = (work: (writer: Database) => void): void => {
      // The writer checkpoints the WAL into the file, which no other process has open.
      unmarkLog(dir);
      const writer = openWriter(path);
      try {
        work(writer);
      } finally {
        writer.close();
      }
    };
    return {
      ...{ meta, shapeOf },
      lineage: lineageOf(meta.get("secret") ?? ""),
      movedTo: migratedTo(open),
      newestEpoch: one<{ epoch: number | null }>("SELECT max(epoch) AS epoch FROM writer_epoch").epoch ?? 0,
      usageUpTo: Number(meta.get("usage_up_to") ?? 0),
      rowsOf: (table, after) => rowsIn(open, fromOf.get(table) ?? table, shapeOf(table), after),
      sums: () => new Map(MIGRATED_TABLES.map(({ name }) => [name, one<Sums>(sumsOf(fromOf.get(name) ?? name, shapeOf(name)))])),
      verify: async (report) => {
        const reads = await openSqliteReads(dir);
        try {
          return await reads.verify(null, report);
        } finally {
          await reads.close();
        }
      },
      keptFiles: (afterSeq, nowMs, limit) => open.query<StoredFile, [number, number, number]>(KEPT).all(afterSeq, nowMs, limit),
      keptCount: (nowMs) => open.query<{ n: number }, [number]>(KEPT_COUNT).get(nowMs)?.n ?? 0,
      keptUploads: (afterSeq, limit) => open.query<StoredFile, [number, number]>(KEPT_UPLOADS).all(afterSeq, limit),
      keptUploadsCount: () => one<{ n: number }>(`SELECT count(*) AS n ${UPLOADS}`).n,
      leftHere: () => ({
        spooled: one<{ n: number }>(SPOOLED).n,
        sealedKeys: one<{ n: number }>("SELECT count(*) AS n FROM provider_credential").n,
      }),
      mark: (to, nowMs) => writing((writer) => markMigrated(writer, to, nowMs)),
      unmark: () => writing(unmarkMigrated),
      close: () => {
        open.close();
        claim.release();
      },
    };
  } catch (fault) {
    db?.close();
    claim.release();
    throw fault;
  }
};
