// Silently lost connections: reads on them time out and are retried over new connections.
import { expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../src/store/errors.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { createPool } from "../../src/store/postgres/connections.ts";
import { isCollision, isLost } from "../../src/store/postgres/errors.ts";
import { openAccount } from "../store/fixture.ts";
import { freshDatabase, onPostgres } from "./databases.ts";
import { openProxy } from "./proxy.ts";

const LONGEST_READ_MS = 700;
const READERS = 2;

onPostgres("silently lost connections", () => {
  test("are replaced: reads in flight, later reads and a commit succeed over new connections", async () => {
    const { url, drop } = await freshDatabase();
    const proxy = await openProxy(Number(new URL(url).port));
    const through = new URL(url);
    through.port = String(proxy.port);
    const store = await openPostgresStore({
      ...{ url: through.href, prepare: true, mode: "test", readers: READERS, leaseMs: 3000, longestReadMs: LONGEST_READ_MS },
    });
    const account = await openAccount(store, 1000);
    const read = async () => (await store.account(account.id))?.id;
    const several = () => Promise.all(Array.from({ length: 3 * READERS }, read));
    const answered = Array.from({ length: 3 * READERS }, () => account.id);
    for (let round = 0; round < 2; round += 1) {
      expect(await several()).toEqual(answered);
      proxy.swallow();
      expect(await several()).toEqual(answered);
      expect(await several()).toEqual(answered);
    }
    expect(await store.commit([{ mutation: "beat", atMs: 1 }])).toHaveLength(1);
    await store.close().catch(() => undefined);
    proxy.close();
    drop();
  }, 60_000);

  test("let a read that times out twice reject with DatabaseUnavailable, while concurrent reads succeed", async () => {
    const { url, drop } = await freshDatabase();
    const pool = createPool({ url, prepare: true }, READERS, LONGEST_READ_MS);
    const slow = pool.query("SELECT 1 AS one FROM pg_sleep(30)").catch((fault: unknown) => fault);
    const beside = pool.query("SELECT 2 AS two FROM pg_sleep(0.6)");
    expect(await slow).toBeInstanceOf(DatabaseUnavailable);
    expect(await beside).toEqual([{ two: 2 }]);
    expect(await pool.query("SELECT 3 AS three")).toEqual([{ three: 3 }]);
    await pool.close();
    drop();
  }, 60_000);
});

test("error 40003 counts as a lost response, and serialization errors count as collisions", () => {
  const fault = (errno: string) => Object.assign(new Error("no"), { errno });
  expect([isLost(fault("40003")), isCollision(fault("40003"))]).toEqual([true, false]);
  for (const state of ["40001", "40P01", "40002", "55P03"])
    expect([isLost(fault(state)), isCollision(fault(state))]).toEqual([false, true]);
});
