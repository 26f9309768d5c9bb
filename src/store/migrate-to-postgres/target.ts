// Target of a store migration: an empty database that stores its own progress.
//
// Each page and its progress mark are committed in one transaction.

import { ServerUnfit } from "../errors.ts";
import { connect } from "../postgres/connections.ts";
import { continueIdentities } from "../postgres/identities.ts";
import { LOCK_OPENING, migrate } from "../postgres/migrate.ts";
import { MIGRATING, migratingIn } from "../postgres/migration-marker.ts";
import { requireServer } from "../postgres/server-requirements.ts";
import { verifyPostgres } from "../postgres/verify.ts";
import type { Value } from "../sql/sql-program.ts";
import { lineageOf } from "../sqlite/database-id.ts";
import type { CheckResult } from "../store.ts";
import { MigrationError, shownAddress } from "./errors.ts";
import type { Page } from "./rows.ts";
import { MIGRATED_TABLES, type MigratedTable, type Shape, type Sums, sumsOf, targetOf } from "./tables.ts";

/** A migration as stored in the target. `movedAtMs`: its start by the clock of the target database. */
export type MigrationTarget = {
  lineage: string;
  fingerprint: string;
  movedAtMs: number;
  step: "loading" | "settled" | "verified";
};
/** Progress in a table; `last` null: no row has arrived. */
export type Mark = { last: Value[] | null; rows: number; replaced: number; replacedBytes: number };

/** The content of a database. `openings`: number of services that opened it since the migration. */
export type Found =
  | { kind: "empty" }
  | { kind: "moving"; moving: MigrationTarget }
  | { kind: "store"; lineage: string; openings: number }
  | { kind: "other"; table: string };

/** Table of progress marks, which is dropped at the end. */
const TABLE = "move";
/** Names of the marks for result files and for uploaded files, beside those of the tables. */
export const FILES = "files";
export const UPLOADS = "uploads";
/** Fingerprint of an undone migration, which cannot be resumed. */
export const TAKEN_BACK = "taken back";

const BEGIN = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
const NOTHING: Mark = { last: null, rows: 0, replaced: 0, replacedBytes: 0 };

export type Target = {
  shown: string;
  look(): Promise<Found>;
  /** Creates the tables with disabled triggers. */
  begin(about: Pick<MigrationTarget, "lineage" | "fingerprint">, nowMs: number): Promise<MigrationTarget>;
  marks(): Promise<Map<string, Mark>>;
  /** Writes the page after `before`. @returns the mark after it. */
  load(table: MigratedTable, page: Page, before: Mark | undefined): Promise<Mark>;
  markFiles(name: typeof FILES | typeof UPLOADS, seq: number, files: number): Promise<void>;
  /** Writes the rows that depend on all others, and enables the triggers. */
  settle(about: { meta: ReadonlyMap<string, string>; newestEpoch: number; usageUpTo: number }): Promise<void>;
  analyze(): Promise<void>;
  sums(shapeOf: (table: string) => Shape): Promise<Map<string, Sums>>;
  verify(report: (done: number, of: number) => void): Promise<CheckResult[]>;
  note(step: MigrationTarget["step"]): Promise<void>;
  /** Completes the migration, so that nodes can open the store. */
  end(): Promise<void>;
  /** Undoes the completion, so that no node can open the store. @throws MigrationError if a service has opened it. */
  takeBack(lineage: string): Promise<void>;
  close(): void;
};

/** @throws MigrationError, or the error of the driver if the server is unreachable. */
export const openTarget = async (url: string): Promise<Target> => {
  const shown = shownAddress(url);
  const address = { url, prepare: false };
  const line = await connect(address);

  const rows = async <Row>(sql: string, ...values: Value[]): Promise<Row[]> => (await line.send<Row>(sql, ...values)).rows;
  const one = async <Row>(sql: string, ...values: Value[]): Promise<Row> => {
    const [row] = await rows<Row>(sql, ...values);
    if (row === undefined) throw new Error("a question about the database had no answer");
    return row;
  };
  const within = async <T>(work: () => Promise<T>): Promise<T> => {
    await line.script(BEGIN);
    try {
      const value = await work();
      await line.script("COMMIT");
      return value;
    } catch (fault) {
      await line.script("ROLLBACK").catch(() => undefined);
      throw fault;
    }
  };

  /** The columns of the progress marks have other names if an older version created them. */
  const requireOwnMarks = async (): Promise<void> => {
    const { isOther } = await one<{ isOther: boolean }>(
      `SELECT to_regclass('${TABLE}') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute
         WHERE attrelid = to_regclass('${TABLE}') AND attname = 'replaced_bytes' AND NOT attisdropped) AS "isOther"`,
    );
    if (isOther)
      throw new MigrationError(
        "refused",
        `an older version of genrouter began the migration into ${shown}: empty that database (drop and create it), and start again`,
      );
  };

  const look = async (): Promise<Found> => {
    await requireServer(line, shown).catch((fault: unknown) => {
      throw fault instanceof ServerUnfit ? new MigrationError("refused", fault.message) : fault;
    });
    const moving = await migratingIn(line);
    if (moving !== undefined) await requireOwnMarks();
    if (moving !== undefined) return { kind: "moving", moving: JSON.parse(moving) as MigrationTarget };
    const names = [...MIGRATED_TABLES.map(targetOf), "meta", "migration", TABLE].map((name) => `'${name}'`);
    const there = await rows<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relname IN (${names.join(", ")}) AND oid = to_regclass(quote_ident(relname)) ORDER BY 1`,
    );
    const [first] = there;
    if (!first) return { kind: "empty" };
    if (!["meta", "node", "migration"].every((name) => there.some((each) => each.name === name)))
      return { kind: "other", table: first.name };
    const { secret, openings } = await one<{ secret: string | null; openings: number }>(
      `SELECT (SELECT value FROM meta WHERE name = 'secret') AS secret, (SELECT count(*) FROM node WHERE epoch >=
         coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'shared_from_epoch'), 0)) AS openings`,
    );
    return { kind: "store", lineage: lineageOf(secret ?? ""), openings };
  };

  const guards = (word: "ENABLE" | "DISABLE"): string =>
    MIGRATED_TABLES.map((table) => `ALTER TABLE ${targetOf(table)} ${word} TRIGGER USER`).join(";\n");

  const keepMoving = (moving: MigrationTarget) =>
    line.send(
      "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      MIGRATING,
      JSON.stringify(moving),
    );
  const setMark = async (name: string, before: Mark, after: Mark): Promise<void> => {
    const from = before.last === null ? null : JSON.stringify(before.last);
    const { changes } = await line.send(
      `INSERT INTO ${TABLE} AS m VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE
         SET last = excluded.last, rows = excluded.rows, replaced = excluded.replaced, replaced_bytes = excluded.replaced_bytes
         WHERE m.last = CAST(?6 AS text)`,
      ...[name, JSON.stringify(after.last), after.rows, after.replaced, after.replacedBytes, from],
    );
    if (changes !== 1)
      throw new MigrationError("refused", `${shown}: another process moves into it at the same time; let one of them end`);
  };

  const marks = async (): Promise<Map<string, Mark>> => {
    type Row = { name: string; last: string; rows: number; replaced: number; replaced_bytes: number };
    const all = await rows<Row>(`SELECT name, last, rows, replaced, replaced_bytes FROM ${TABLE}`);
    return new Map(
      all.map((row) => [
        row.name,
        { last: JSON.parse(row.last) as Value[], rows: row.rows, replaced: row.replaced, replacedBytes: row.replaced_bytes },
      ]),
    );
  };

  return {
    ...{ shown, look, marks },
    begin: (about, nowMs) =>
      within(async () => {
        await line.send(LOCK_OPENING);
        if ((await look()).kind !== "empty")
          throw new MigrationError("refused", `${shown}: something else was put into it just now; name an empty database`);
        await migrate(line, nowMs);
        const { now } = await one<{ now: number }>("SELECT now_ms() AS now");
        const moving: MigrationTarget = { ...about, movedAtMs: now, step: "loading" };
        await keepMoving(moving);
        await line.script(
          `CREATE TABLE ${TABLE} (name text PRIMARY KEY, last text, rows bigint NOT NULL, replaced bigint NOT NULL, replaced_bytes bigint NOT NULL);
           ${guards("DISABLE")}`,
        );
        return moving;
      }),
    load: (table, page, before = NOTHING) =>
      within(async () => {
        // A crash of the server can lose the last pages together with their marks.
        await line.script("SET LOCAL synchronous_commit = off");
        const taken = await line.copy(`COPY ${targetOf(table)} (${page.columns.join(", ")}) FROM STDIN`, page.text);
        if (taken !== page.rows)
          throw new MigrationError(
            "not_whole",
            `${shown} took ${taken} of ${page.rows} rows of ${table.name}; nothing of them was kept`,
          );
        const after: Mark = {
          last: page.last,
          rows: before.rows + page.rows,
          replaced: before.replaced + page.replaced,
          replacedBytes: before.replacedBytes + page.replacedBytes,
        };
        await setMark(table.name, before, after);
        return after;
      }),
    markFiles: (name, seq, files) =>
      within(async () => {
        const before = (await marks()).get(name) ?? NOTHING;
        await setMark(name, before, { ...before, last: [seq], rows: before.rows + files });
      }),
    settle: ({ meta, newestEpoch, usageUpTo }) =>
      within(async () => {
        // In PostgreSQL each owner has its own mark.
        for (const [name, value] of meta)
          if (name !== "usage_up_to")
            await line.send(
              "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
              name,
              value,
            );
        await line.send("INSERT INTO meta VALUES ('shared_from_epoch', ?1)", String(newestEpoch + 1));
        await line.send(
          `INSERT INTO usage_progress (epoch, up_to_seq, is_done) SELECT o.epoch, CAST(?1 AS bigint), CASE WHEN b.epoch IS NULL THEN 1 ELSE 0 END
             FROM node o LEFT JOIN (SELECT DISTINCT epoch FROM transfer WHERE seq > ?1) b ON b.epoch = o.epoch`,
          usageUpTo,
        );
        await continueIdentities(line, MIGRATED_TABLES.map(targetOf));
        await line.script(guards("ENABLE"));
        const moving = await migratingIn(line);
        await keepMoving({ ...(JSON.parse(moving ?? "{}") as MigrationTarget), step: "settled" });
      }),
    analyze: async () => {
      for (const table of MIGRATED_TABLES) await line.script(`ANALYZE ${targetOf(table)}`);
    },
    sums: async (shapeOf) => {
      const found = new Map<string, Sums>();
      for (const table of MIGRATED_TABLES) {
        const sql = sumsOf(targetOf(table), shapeOf(table.name));
        found.set(table.name, await within(() => one<Sums>(sql)));
      }
      return found;
    },
    verify: (report) => verifyPostgres(address, null, report),
    note: (step) =>
      within(
        async () => void (await keepMoving({ ...(JSON.parse((await migratingIn(line)) ?? "{}") as MigrationTarget), step })),
      ),
    end: () =>
      within(async () => {
        await line.send(LOCK_OPENING);
        await line.send("DELETE FROM meta WHERE name = ?1", MIGRATING);
        await line.script(`DROP TABLE ${TABLE}`);
      }),
    takeBack: (lineage) =>
      within(async () => {
        await line.send(LOCK_OPENING);
        const found = await look();
        if (found.kind !== "store" || found.lineage !== lineage) return;
        if (found.openings > 0)
          throw new MigrationError(
            "refused",
            `a service was open over ${shown} since the migration: its changes are not in the data directory, so the directory must not be used`,
          );
        await keepMoving({ lineage, fingerprint: TAKEN_BACK, movedAtMs: 0, step: "loading" });
      }),
    close: () => line.close(),
  };
};
