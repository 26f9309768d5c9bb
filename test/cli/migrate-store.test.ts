// `genrouter migrate-store`: output, exit codes, rejected migrations, and passwords that it does not print.
import { Database } from "bun:sqlite";
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { openDirectory } from "../store/open-store.ts";
import { makeDatabase, type TestDatabase } from "../store-migration/database.ts";
import { makeFullWorld } from "../store-migration/fixture.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

const moving = test.skipIf(postgresReason !== undefined);

setDefaultTimeout(60_000);
const made = freshDir();
await makeFullWorld(made);
const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const { drop } of databases) await drop();
  dropDirs();
});
const copyOfWorld = (): string => {
  const dir = freshDir();
  cpSync(made, dir, { recursive: true });
  return dir;
};
const newDatabase = async (): Promise<TestDatabase> => {
  const database = await makeDatabase();
  databases.push(database);
  return database;
};
/** @returns the exit code and the output of both streams. */
const migrate = async (dir: string, ...words: string[]): Promise<[exit: number, said: string]> => {
  const { exit, out, err } = await runHere(["migrate-store", "--data", dir, ...words]);
  return [exit, out + err];
};

moving(
  "migrate-store verifies both stores, prints the next steps, and commands then reject the directory until --undo",
  async () => {
    const [dir, database] = [copyOfWorld(), await newDatabase()];
    const { exit, out, err } = await runHere(["migrate-store", "--data", dir, "--to", database.url]);
    expect([exit as number, err]).toEqual([
      0,
      expect.stringMatching(/^migrating {2}\[░+\] +\d% {2}writer_epoch {2}\d+ of \d+ rows/m),
    ]);
    expect(out.match(/all thirteen invariants hold/g)).toHaveLength(2);
    expect(out).toMatch(/^migrated \d+ rows to postgres:\/\/\S+ in \d+ s$/m);
    expect(out).toMatch(/^2 texts contained characters that PostgreSQL cannot store/m);
    expect(out).toMatch(/GENROUTER_STORE__URL=postgres/);
    expect(out).toMatch(/result files stay in .*nodes store result files in a bucket/);
    expect(out).toMatch(/1 provider key is sealed: every node needs .*provider-keys\.master/);
    const opened = await runHere(["accounts", "create", "--name", "x", "--data", dir, "--json"]);
    expect([opened.exit as number, JSON.parse(opened.err).error]).toEqual([
      2,
      { code: "store_moved", message: expect.stringContaining(database.name) },
    ]);
    for (const read of ["verify", "orphans", "nodes"]) {
      const { exit: refused, err: why } = await runHere([read, "--data", dir]);
      expect([read, refused as number, why]).toEqual([read, 2, expect.stringContaining(database.name)]);
    }
    expect(await migrate(dir, "--undo", "--to", database.url)).toEqual([0, expect.stringContaining("is unchanged")]);
    await (await openDirectory({ dir, mode: "test" })).close();
  },
);

moving("migrate-store --json has the rows of each table and the verification of both stores", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  const { exit, out } = await runHere(["migrate-store", "--data", dir, "--to", database.url, "--json"]);
  expect([exit as number, JSON.parse(out)]).toMatchObject([
    0,
    {
      ...{ moved: true, resumed: false, mended_texts: 2, files: null, sealed_provider_keys: 1 },
      rows: { account: 5, writer_epoch: 5 },
      source: { ok: true, checks: expect.any(Array) },
      target: { ok: true, checks: expect.any(Array) },
    },
  ]);
});

moving(
  "migrate-store rejects each unusable address or directory in one line with an exit code and without a password",
  async () => {
    const [dir, database] = [copyOfWorld(), await newDatabase()];
    const { url } = database;
    const at = (path: string, user = "genrouter") => url.replace(/\/\/.*/, `//${user}@${new URL(url).host}/${path}`);
    const guest = `guest_of_${database.name}`;
    await database.ask(`CREATE ROLE ${guest} LOGIN`);
    const refusals: [word: string, exit: number, line: RegExp][] = [
      ["db.example.com", 2, /--to: expected a postgres:\/\/ address/],
      ["mysql://root:hunter2@127.0.0.1/x", 2, /--to: expected a postgres:\/\/ address/],
      ["postgres://genrouter:hunter2@127.0.0.1:1/x", 75, /genrouter@127\.0\.0\.1:1\/x does not respond/],
      [at("x", "stranger:hunter2"), 3, /rejects the login of stranger/],
      [at("no_such_database"), 4, /does not exist.*createdb no_such_database/],
      [at(database.name, guest), 3, /permission denied.*GRANT CREATE/],
    ];
    for (const [to, exit, line] of refusals) {
      const [ended, said] = await migrate(dir, "--to", to);
      expect([to, ended, said]).toEqual([to, exit, expect.stringMatching(line)]);
      expect(said).not.toMatch(/hunter2|\bat .*\.ts|--debug/);
    }
    await database.ask(`DROP ROLE ${guest}`);
    expect(await migrate(dir)).toEqual([2, expect.stringMatching(/no target database.*--to/)]);
    const owner = await openDirectory({ dir, mode: "test" });
    expect(await migrate(dir, "--to", url)).toEqual([75, expect.stringMatching(/already running as pid/)]);
    await owner.close();
    expect(await migrate(freshDir(), "--to", url)).toEqual([78, expect.stringMatching(/there is no database in it/)]);
    // No rejected migration created a table.
    expect(await database.ask("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  },
);

moving(
  "migrate-store rejects a store that violates an invariant, names the invariant, and leaves the database empty",
  async () => {
    const [dir, database] = [copyOfWorld(), await newDatabase()];
    const db = new Database(join(dir, DATABASE_FILE));
    db.run("UPDATE balance SET owed_credits = owed_credits + 5 WHERE account_seq = 1");
    db.close();
    const [exit, said] = await migrate(dir, "--to", database.url);
    expect([exit, said]).toEqual([1, expect.stringMatching(/nothing was migrated: correct the violations/)]);
    expect(said).toMatch(/✘ +1 {2}conservation/);
    expect(await database.ask("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
    // The source directory still opens.
    expect((await runHere(["accounts", "create", "--name", "x", "--data", dir])).exit).toBe(0);
  },
);
