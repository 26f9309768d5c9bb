// Steps of the schema over PostgreSQL: run once however many nodes start, and nodes of the release before go on beside a step that only adds.
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
/** As a node of a newer release opens the database. */
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

onPostgres("steps of the schema", () => {
  test("nodes that start at once over an empty database run every step once", async () => {
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

  test("a newer release that only adds: nodes of this one go on, start again, and are read beside it", async () => {
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

  test("a newer release that takes something away: this one does not start, and does not read", async () => {
    const { url } = await ownDatabase();
    await upgrade(url, further(NEWEST + 1));
    const fault = (work: Promise<unknown>) => work.then(() => undefined).catch((thrown: unknown) => thrown);
    for (const refused of [await fault(open(url)), await fault(openPostgresReads({ url, prepare: true }))]) {
      expect(refused).toBeInstanceOf(WrongSchema);
      expect(String(refused)).toContain("start the newer release");
    }
  });

  test("a step that is not the one of this release is refused", async () => {
    const { url } = await ownDatabase();
    const changed = MIGRATIONS.map((step) => (step.version === NEWEST ? { ...step, sql: `${step.sql}\n-- changed` } : step));
    await upgrade(url, changed);
    await expect(open(url)).rejects.toThrow(`step ${NEWEST} of the database is not the one of this release`);
  });

  test("every step needs no step behind itself", () => {
    for (const { version, needs } of MIGRATIONS) expect(needs).toBeLessThanOrEqual(version);
  });
});
