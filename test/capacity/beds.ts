// Where costs are measured: a store with accounts in it, and how its rows, bytes, transactions, log and processor time are counted.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tables } from "../../src/cli/capacity/measured.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { type Connection, connect } from "../../src/store/postgres/connect.ts";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { openTestBucket } from "../files/s3/bucket.ts";
import { openServer } from "../postgres/server.ts";
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
const verified = async (store: Store): Promise<void> => {
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

/** The postmaster is the parent of every backend. */
const parentOf = (pid: number): number => Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1]);
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

const TABLES = `SELECT relname AS name, pg_total_relation_size(oid) AS bytes, pg_indexes_size(oid) AS "indexBytes" FROM pg_class
  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;

export const openPostgresBed = async (): Promise<Bed> => {
  const server = await openServer();
  const url = server.url("postgres");
  const address = { url, prepare: true };
  const bucket = await openTestBucket(Date.now);
  const dir = makeScratch("costs-node-");
  const open = () => openPostgresStore({ ...address, mode: "test", readers: 2 });
  // The schema is there before anything is counted.
  await (await open()).close();
  const line: Connection = await connect(address);
  const one = async <Row>(sql: string): Promise<Row> => (await line.send<Row>(sql)).rows[0] as Row;
  const { pid } = await one<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const postmaster = parentOf(pid);
  return {
    ...{ name: "postgres", dir, env: { GENROUTER_STORE__URL: url, ...bucket.settings } },
    open,
    tables: async () => {
      const tables: Tables = {};
      for (const { name, bytes, indexBytes } of (await line.send<{ name: string; bytes: number; indexBytes: number }>(TABLES))
        .rows)
        tables[name] = { rows: (await one<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`)).rows, bytes, indexBytes };
      return tables;
    },
    counted: async () => {
      await line.script("SELECT pg_stat_force_next_flush(); SELECT pg_stat_clear_snapshot()");
      const { batches } = await one<{ batches: number }>("SELECT CAST(sum(batch) AS bigint) AS batches FROM owner");
      const wal = await one<{ at: number; images: number }>(
        `SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS bigint) AS at, wal_fpi AS images FROM pg_stat_wal`,
      );
      return { transactions: batches, logBytes: wal.at, pageImages: wal.images };
    },
    inFlight: async () =>
      (await one<{ count: number }>("SELECT count(*) AS count FROM generation WHERE completed_at_ms IS NULL")).count,
    databasePids: () => [postmaster, ...childrenOf(postmaster)].filter((one) => one !== pid),
    ready: async () => {
      bucket.objects.clear();
      bucket.seen.length = 0;
      // Plans that were made while tables were empty read all of them: those of a database that has been used for minutes do not.
      await line.script("ANALYZE");
    },
    close: async () => {
      await verified(await open());
      line.close();
      await bucket.close();
      await server.stop();
    },
  };
};
