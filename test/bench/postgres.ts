// Starts a PostgreSQL server for the benches: a separate cluster with synchronous commits.
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { freePort, run } from "../../src/torture/crash/processes.ts";
import { AS, binary, postgresReason } from "../postgres/binaries.ts";
import { makeScratch } from "../scratch.ts";
import { NoPeer } from "./bench.ts";
import { onServerCore } from "./machine.ts";
import { dropping, isListening, type Server, startPart } from "./peers/parts.ts";

/** Changes to the default settings: memory for the pages of the bench, and no checkpoint within a round. */
const SETTINGS = [
  "fsync=on",
  "synchronous_commit=on",
  "shared_buffers=256MB",
  "max_wal_size=4GB",
  "checkpoint_timeout=30min",
  "max_connections=200",
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
];
const USER = "bench";
/** The database that always exists. */
export const FIRST_DATABASE = "postgres";
export const addressAt = (port: number, database: string): string => `postgres://${USER}@127.0.0.1:${port}/${database}`;

export type Postgres = Server & {
  /** Creates a database: empty, or a copy of one without connections. @returns its URL. */
  make(database: string, template?: string): Promise<string>;
};

/** Database names are generated here and need no quoting. */
const makeOn = async (port: number, database: string, template = "template0"): Promise<string> => {
  const sql = new SQL(addressAt(port, FIRST_DATABASE), { max: 1 });
  try {
    // Copies files without write-ahead logging, and flushes them before any measurement.
    await sql.unsafe(`CREATE DATABASE ${database} TEMPLATE ${template} STRATEGY file_copy`);
  } finally {
    await sql.close();
  }
  return addressAt(port, database);
};

/** @param pinned its cores. @throws NoPeer if there is no PostgreSQL for this machine. */
export const startPostgres = async (pinned = onServerCore): Promise<Postgres> => {
  if (postgresReason !== undefined) throw new NoPeer(postgresReason);
  if (AS.uid !== undefined && Bun.which("setpriv") === null)
    throw new NoPeer("PostgreSQL refuses root, and setpriv is not here to become another user");
  const home = makeScratch("bench-postgres-");
  chmodSync(home, 0o755);
  const cluster = join(home, "cluster");
  mkdirSync(cluster, { mode: 0o700 });
  if (AS.uid !== undefined && AS.gid !== undefined) chownSync(cluster, AS.uid, AS.gid);
  const humbly = AS.uid === undefined ? [] : ["setpriv", `--reuid=${AS.uid}`, `--regid=${AS.gid}`, "--clear-groups"];
  const env = { HOME: home, LD_LIBRARY_PATH: join(dirname(binary("postgres")), "../lib") };
  const program = (name: "initdb" | "postgres") => [...humbly, binary(name), "-D", cluster];
  const made = await run(
    [...program("initdb"), "--no-sync", "--auth=trust", `--username=${USER}`, "--encoding=UTF8", "--no-locale"],
    env,
  );
  if (made.code !== 0) throw new NoPeer(`PostgreSQL cannot make its cluster: ${made.output.trim().slice(-400)}`);
  const port = await freePort();
  const settings = [...SETTINGS, `port=${port}`].flatMap((setting) => ["-c", setting]);
  const part = await startPart("PostgreSQL", {
    ...{ words: pinned([...program("postgres"), ...settings]), env, port },
    isUp: () => isListening(port),
    // The immediate shutdown is the only fast one that also removes the shared memory.
    tidily: "SIGQUIT",
  });
  const version = await run([binary("postgres"), "--version"], env);
  return {
    ...dropping(part, home),
    server: `PostgreSQL ${/[\d.]+/.exec(version.output)?.[0]}`,
    make: (database, template) => makeOn(port, database, template),
  };
};
