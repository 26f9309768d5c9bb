// Requirements on the PostgreSQL server: the start reports a server that is too old or unreachable in one line.
import { expect, test } from "bun:test";
import { messageOf } from "../../src/cli/exit-codes.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { adoptDatabase } from "../../src/store/postgres/mark-restored.ts";
import { openPostgresReads } from "../../src/store/postgres/read-only-client.ts";
import { unavailableError } from "../../src/store/postgres/server-requirements.ts";
import { freshDatabase, onPostgres } from "./databases.ts";

const faultOf = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error("nothing was rejected"),
    (fault: Error) => fault,
  );

onPostgres("the PostgreSQL server", () => {
  test("is rejected at the start when its version is too old, without a restart", async () => {
    const database = await freshDatabase();
    const fault = await faultOf(openPostgresStore({ url: database.url, prepare: true, mode: "test", leastVersion: 990_000 }));
    expect(fault.message).toMatch(
      /^the database of GENROUTER_STORE__URL at [\w.]+:\d+ is PostgreSQL \d+; 99 or a newer one is needed$/,
    );
    expect(await messageOf(fault)).toMatchObject({ exit: 2, code: "server_unfit", expected: true });
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
    await store.close();
    await database.drop();
  });
});

test("an unreachable database is reported with host and port, without its password", async () => {
  const address = { url: "postgres://genrouter:hidden@127.0.0.1:1/genrouter", prepare: true };
  const works = {
    opened: () => openPostgresStore(address),
    read: () => openPostgresReads(address),
    adopted: () => adoptDatabase(address, 0),
  };
  for (const [what, work] of Object.entries(works)) {
    const { message } = await faultOf(work());
    expect(message).toStartWith(`the database of GENROUTER_STORE__URL at 127.0.0.1:1 cannot be ${what}: `);
    expect(message).not.toContain("hidden");
  }
});

test.each(["42P05", "26000"])("the error for a pooler that answers %s names the setting GENROUTER_STORE__PREPARED", (errno) => {
  const fault = Object.assign(new Error('prepared statement "P0" already exists'), { errno });
  const { message } = unavailableError("postgres://db.example.com/genrouter", "opened", fault);
  expect(message).toContain("at db.example.com:5432 cannot be opened");
  expect(message).toEndWith("; behind a pooler in transaction mode set GENROUTER_STORE__PREPARED=false");
});
