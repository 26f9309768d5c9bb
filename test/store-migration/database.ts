// An empty PostgreSQL database for one test, on the server that the tests of this process share.
import { SQL } from "bun";
import { sharedServer } from "../postgres/databases.ts";

let made = 0;

export type TestDatabase = {
  url: string;
  name: string;
  ask(sql: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
};

/** @param encoding The text encoding of the database. */
export const makeDatabase = async (encoding = "UTF8"): Promise<TestDatabase> => {
  const server = await sharedServer();
  const admin = new SQL(server.url("postgres"), { max: 1 });
  made += 1;
  const name = `move_${made}`;
  await admin.unsafe(`CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`).simple();
  const url = server.url(name);
  const sql = new SQL(url, { max: 2, bigint: true });
  return {
    ...{ url, name },
    ask: async (text) => [...(await sql.unsafe(text))],
    drop: async () => {
      await sql.close({ timeout: 0 });
      // The server may have stopped before, with all its databases.
      await admin
        .unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
        .simple()
        .catch(() => undefined);
      await admin.close();
    },
  };
};
