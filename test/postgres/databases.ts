// Databases for tests, each with our schema and nothing else in it, on one server for all tests of a file, which ends with them.
import { afterAll, beforeAll, describe } from "bun:test";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { postgresReason } from "./binaries.ts";
import { openServer, type Server } from "./server.ts";

export type Database = {
  url: string;
  /** The server that it is on. */
  server: Server;
  /** Done with it: it may be emptied and used again. Whoever has changed its schema leaves it alone instead. */
  drop(): void;
};

/** A machine that has much else to do takes its time. */
const START_MS = 120_000;

/** A suite that wants a server: it is skipped, and says so, where there is none. */
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
/** Emptying takes milliseconds, making or dropping one a tenth of a second and more. */
const free: string[] = [];

/** A connection for a moment: a test may have restarted the server since the last. */
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
    // Nobody may be connected to what is copied, and a connection that was closed goes on for a moment.
    await line.script(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`);
    await line.send("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ?1", TEMPLATE);
  });
  return opened;
};

const server = () => {
  opening ??= open();
  return opening;
};

/** The server that the tests of a file share; started when it is first wanted. */
export const sharedServer = async (): Promise<Server> => await server();

// One that goes on holds the whole world of its file in memory, and every collection in the files to come is slower by it.
afterAll(async () => {
  const running = await opening?.catch(() => undefined);
  [opening, made, free.length] = [undefined, 0, 0];
  await running?.stop();
});

/** As after the last step of its schema: no row, numbers from 1. */
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

/** An empty database that nobody uses afterwards: for what changes the schema. */
export const ownDatabase = async (): Promise<{ url: string }> => {
  const running = await server();
  made += 1;
  const name = `own_${made}`;
  await on(running.url("postgres"), (line) => line.script(`CREATE DATABASE ${name}`));
  return { url: running.url(name) };
};
