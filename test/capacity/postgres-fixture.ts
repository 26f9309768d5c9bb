// Fixture of the cost measurements on PostgreSQL: a separate server, bucket and store.
import { readFileSync } from "node:fs";
import type { Tables } from "../../src/cli/capacity/measured.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { openTestBucket } from "../files/s3/bucket.ts";
import { openServer } from "../postgres/server.ts";
import { makeScratch } from "../scratch.ts";
import { type Bed, verified } from "./fixtures.ts";

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
  // The schema is created before the counters start.
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
      const { batches } = await one<{ batches: number }>("SELECT CAST(sum(batch) AS bigint) AS batches FROM node");
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
      // Plans from empty tables use full scans, unlike those of a database that has been in use for minutes.
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
