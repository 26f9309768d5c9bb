// Fixture of the cost measurements: a store with accounts, and counters of its rows, bytes, transactions, log and CPU time.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tables } from "../../src/cli/capacity/measured.ts";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { makeScratch } from "../scratch.ts";

/** Counters since the creation of the database. `logBytes`: bytes of the write-ahead log. */
export type Counted = { transactions: number; logBytes: number; pageImages: number };

export type Bed = {
  name: "sqlite" | "postgres";
  dir: string;
  /** Settings of a service that uses this store. */
  env: Record<string, string>;
  /** Opens the store in this process. With SQLite, no service may run at the same time. */
  open(): Promise<Store>;
  tables(): Promise<Tables>;
  counted(): Promise<Counted>;
  /** The number of open generations. */
  inFlight(): Promise<number>;
  /** Processes of the database itself. */
  databasePids(): number[];
  /** Prepares a measurement: releases unused resources and updates the planner's statistics. */
  ready(): Promise<void>;
  close(): Promise<void>;
};

/** Verifies the invariants after a measurement: the costs of an inconsistent ledger are meaningless. */
export const verified = async (store: Store): Promise<void> => {
  const broken = (await store.verify(null)).filter(({ ok }) => !ok);
  await store.close();
  if (broken.length > 0) throw new Error(`the measured ledger is inconsistent: ${JSON.stringify(broken).slice(0, 1000)}`);
};

/** The offset of a counter in the shared WAL index file. Every commit increments it. */
const COMMITS_AT = 8;

export const openSqliteBed = async (): Promise<Bed> => {
  const dir = makeScratch("costs-sqlite-");
  const path = join(dir, DATABASE_FILE);
  const open = () => openSqliteStore({ dir, mode: "test" });
  // The schema is created before the counters start.
  await (await open()).close();
  const asking = <T>(work: (db: Database) => T): T => {
    const db = new Database(path, { readonly: true });
    try {
      db.run("PRAGMA busy_timeout = 5000");
      return work(db);
    } finally {
      db.close();
    }
  };
  let reader: Database | undefined;
  return {
    ...{ name: "sqlite", dir, env: {} },
    open,
    tables: async () =>
      asking((db) => {
        const tables: Tables = {};
        const sizes = db
          .query<{ name: string; type: string; bytes: number }, []>(
            `SELECT s.tbl_name AS name, s.type, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
            GROUP BY s.tbl_name, s.type`,
          )
          .all();
        for (const { name, type, bytes } of sizes) {
          tables[name] ??= {
            rows: db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${name}`).get()?.rows ?? 0,
            bytes: 0,
            indexBytes: 0,
          };
          tables[name].bytes += bytes;
          if (type === "index") tables[name].indexBytes += bytes;
        }
        return tables;
      }),
    counted: async () => ({
      transactions: readFileSync(`${path}-shm`).readUInt32LE(COMMITS_AT),
      // The WAL is overwritten from its start, so the writing processes report the number of written bytes.
      ...{ logBytes: 0, pageImages: 0 },
    }),
    inFlight: async () => {
      reader ??= new Database(path, { readonly: true });
      return (
        reader.query<{ count: number }, []>("SELECT count(*) AS count FROM generation WHERE completed_at_ms IS NULL").get()
          ?.count ?? 0
      );
    },
    databasePids: () => [],
    ready: async () => {
      reader?.close();
      reader = undefined;
    },
    close: async () => {
      reader?.close();
      await verified(await open());
    },
  };
};
