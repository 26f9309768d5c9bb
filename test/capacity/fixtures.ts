// Where costs are measured: a store with accounts in it, and how its rows, bytes, transactions, log and processor time are counted.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tables } from "../../src/cli/capacity/measured.ts";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { makeScratch } from "../scratch.ts";

/** What has been counted since the database was made. `logBytes`: of the log that makes commits durable. */
export type Counted = { transactions: number; logBytes: number; pageImages: number };

export type Bed = {
  name: "sqlite" | "postgres";
  dir: string;
  /** What a service is told so that it works here. */
  env: Record<string, string>;
  /** A store of this process over it; for SQLite, no service may run. */
  open(): Promise<Store>;
  tables(): Promise<Tables>;
  counted(): Promise<Counted>;
  /** Generations that have not ended. */
  inFlight(): Promise<number>;
  /** Processes of the database itself. */
  databasePids(): number[];
  /** Before something is measured: lets go of what was kept for nothing, and tells the planner how large tables are by now. */
  ready(): Promise<void>;
  close(): Promise<void>;
};

/** What was measured was lawful: costs of books that do not add up say nothing. */
export const verified = async (store: Store): Promise<void> => {
  const broken = (await store.verify(null)).filter(({ ok }) => !ok);
  await store.close();
  if (broken.length > 0) throw new Error(`the books that were measured are wrong: ${JSON.stringify(broken).slice(0, 1000)}`);
};

/** Each commit adds one to a counter in the index of the log, which readers beside the writer share through a file. */
const COMMITS_AT = 8;

export const openSqliteBed = async (): Promise<Bed> => {
  const dir = makeScratch("costs-sqlite-");
  const path = join(dir, DATABASE_FILE);
  const open = () => openSqliteStore({ dir, mode: "test" });
  // The schema is there before anything is counted.
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
      // It is written over from its beginning: how much was written is told by the processes that did it.
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
