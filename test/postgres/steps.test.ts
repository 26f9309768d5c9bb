// Schema migrations over PostgreSQL: each runs once for all nodes, and nodes of the former release continue after additive ones.
import { expect, test } from "bun:test";
import { WrongSchema } from "../../src/store/errors.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import { LOCK_OPENING, MIGRATIONS, type Migration, migrate } from "../../src/store/postgres/migrate.ts";
import { openPostgresReads } from "../../src/store/postgres/read-only-client.ts";
import { violations } from "../store/fixture.ts";
import { onPostgres, ownDatabase } from "./databases.ts";

const NEWEST = MIGRATIONS.at(-1)?.version ?? 0;
const further = (needs: number): Migration[] => [
  ...MIGRATIONS,
  { version: NEWEST + 1, sql: "ALTER TABLE account ADD COLUMN later bigint; CREATE TABLE later (x bigint)", needs },
];
/** Opens the database as a node of a newer release does. */
const upgrade = async (url: string, migrations: readonly Migration[]): Promise<void> => {
  const line = await connect({ url, prepare: true });
  try {
    await line.script("BEGIN");
    await line.send(LOCK_OPENING);
    await migrate(line, 0, migrations);
    await line.script("COMMIT");
  } finally {
    line.close();
  }
};
const open = (url: string) => openPostgresStore({ url, prepare: true, mode: "test", readers: 1 });

onPostgres("schema migrations", () => {
  test("run once when several nodes start on an empty database", async () => {
    const { url } = await ownDatabase();
    const stores = await Promise.all([open(url), open(url), open(url)]);
    const slots = stores.map(({ node }) => node?.slot);
    expect(new Set(slots).size).toBe(3);
    const line = await connect({ url, prepare: true });
    const { rows } = await line.send<{ n: number }>("SELECT n FROM migration ORDER BY n");
    expect(rows.map(({ n }) => n)).toEqual(MIGRATIONS.map(({ version }) => version));
    line.close();
    for (const store of stores) await store.close();
  });

  test("of a newer release that only add objects keep nodes of this release running, restartable and readable", async () => {
    const { url } = await ownDatabase();
    const before = await open(url);
    await upgrade(url, further(NEWEST));
    const account = { mutation: "create-account", id: "acc_1", name: "beside", atMs: 1 } as const;
    expect((await before.commit([account]))[0]?.kind).toBe("done");
    const again = await open(url);
    expect((await again.account("acc_1"))?.name).toBe("beside");
    const reads = await openPostgresReads({ url, prepare: true });
    expect(await reads.isServed()).toBe(true);
    await reads.close();
    expect(await violations(again)).toEqual([]);
    await again.close();
    await before.close();
  });

  test("of a newer release that remove objects prevent this release from starting and from reading", async () => {
    const { url } = await ownDatabase();
    await upgrade(url, further(NEWEST + 1));
    const fault = (work: Promise<unknown>) => work.then(() => undefined).catch((thrown: unknown) => thrown);
    for (const refused of [await fault(open(url)), await fault(openPostgresReads({ url, prepare: true }))]) {
      expect(refused).toBeInstanceOf(WrongSchema);
      expect(String(refused)).toContain("start the newer release");
    }
  });

  test("are rejected when their SQL differs from that of this release", async () => {
    const { url } = await ownDatabase();
    const changed = MIGRATIONS.map((step) => (step.version === NEWEST ? { ...step, sql: `${step.sql}\n-- changed` } : step));
    await upgrade(url, changed);
    await expect(open(url)).rejects.toThrow(`step ${NEWEST} of the database is not the one of this release`);
  });

  test("require at most their own version", () => {
    for (const { version, needs } of MIGRATIONS) expect(needs).toBeLessThanOrEqual(version);
  });
});
