// Test databases that contain only the genrouter schema, on one server that the tests of a file share.
import { afterAll, beforeAll, describe } from "bun:test";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { postgresReason } from "./binaries.ts";
import { openServer, type Server } from "./server.ts";

export type Database = {
  url: string;
  /** The server of the database. */
  server: Server;
  /** Returns the database for reuse by other tests. A test that changed its schema does not call this. */
  drop(): void;
};

/** A busy machine needs more time. */
const START_MS = 120_000;

/** A suite that needs a server. Without one it is skipped and prints the reason. */
export const onPostgres = (what: string, suite: () => void): void => {
  if (postgresReason !== undefined) process.stdout.write(`skipped: ${what} (${postgresReason})\n`);
  describe.skipIf(postgresReason !== undefined)(what, () => {
    beforeAll(async () => void (await server()), START_MS);
    suite();
  });
};

const TEMPLATE = "template_of_ours";
let opening: Promise<Server> | undefined;
let made = 0;
/** Emptying a database takes milliseconds; creating or dropping one takes a tenth of a second or more. */
const free: string[] = [];

/** Opens a connection for one piece of work, because a test may have restarted the server. */
const on = async (url: string, work: (line: Connection) => Promise<void>): Promise<void> => {
  const line = await connect({ url, prepare: true });
  await work(line).finally(line.close);
};

const open = async (): Promise<Server> => {
  const opened = await openServer();
  await on(opened.url("postgres"), (line) => line.script(`CREATE DATABASE ${TEMPLATE}`));
  await on(opened.url(TEMPLATE), async (line) => {
    await line.script("BEGIN");
    await migrate(line, 0);
    await line.script("COMMIT");
  });
  await on(opened.url("postgres"), async (line) => {
    // A template must have no connections, and a closed connection remains for a moment.
    await line.script(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`);
    await line.send("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ?1", TEMPLATE);
  });
  return opened;
};

const server = () => {
  opening ??= open();
  return opening;
};

/** The server that the tests of a file share, started on first use. */
export const sharedServer = async (): Promise<Server> => await server();

// A server that stays open keeps its test file in memory, which slows down garbage collection in all later files.
afterAll(async () => {
  const running = await opening?.catch(() => undefined);
  [opening, made, free.length] = [undefined, 0, 0];
  await running?.stop();
});

/** Resets a database to the state after its last schema migration: no rows, sequences from 1. */
const empty = async (line: Connection): Promise<void> => {
  const { rows } = await line.send<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration'",
  );
  const emptied = rows.map(({ name }) => `DELETE FROM ${name};`).join(" ");
  await line.script(`BEGIN; SET LOCAL session_replication_role = replica; ${emptied}
    SELECT setval(seqrelid::regclass, 1, false) FROM pg_sequence; COMMIT`);
};

/** A database that no other test uses. */
export const freshDatabase = async (): Promise<Database> => {
  const running = await server();
  const used = free.pop();
  if (used === undefined) made += 1;
  const name = used ?? `test_${made}`;
  const url = running.url(name);
  if (used === undefined)
    await on(running.url("postgres"), (line) => line.script(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`));
  else await on(url, empty);
  return { url, server: running, drop: () => void free.push(name) };
};

/** An empty database that is not reused, for tests that change the schema. */
export const ownDatabase = async (): Promise<{ url: string }> => {
  const running = await server();
  made += 1;
  const name = `own_${made}`;
  await on(running.url("postgres"), (line) => line.script(`CREATE DATABASE ${name}`));
  return { url: running.url(name) };
};
