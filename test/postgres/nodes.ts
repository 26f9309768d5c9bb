// Opens several nodes on one database, and verifies and closes them at the end of the test.
import { afterEach, expect } from "bun:test";
import { openPostgresStore, type PostgresOptions } from "../../src/store/postgres/client.ts";
import type { Store } from "../../src/store/store.ts";
import { violations } from "../store/fixture.ts";
import { type Database, freshDatabase } from "./databases.ts";

type Opened = { database: Database; stores: Store[] };
const opened: Opened[] = [];

/** Opens one node for each options object, on a new database. */
export const openNodes = async <const O extends readonly Partial<PostgresOptions>[]>(
  ...options: O
): Promise<{
  database: Database;
  nodes: { [K in keyof O]: Store };
  another: (changes?: Partial<PostgresOptions>) => Promise<Store>;
}> => {
  const database = await freshDatabase();
  const scene: Opened = { database, stores: [] };
  opened.push(scene);
  const another = async (changes: Partial<PostgresOptions> = {}): Promise<Store> => {
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test", readers: 2, ...changes });
    let closing: Promise<void> | undefined;
    const once: Store = {
      ...store,
      close: () => {
        closing ??= store.close();
        return closing;
      },
    };
    scene.stores.push(once);
    return once;
  };
  const nodes: Store[] = [];
  for (const changes of options) nodes.push(await another(changes));
  return { database, nodes: nodes as unknown as { [K in keyof O]: Store }, another };
};

/** Verifies the invariants after each test. */
export const checkNodes = (): void => {
  afterEach(async () => {
    for (const { database, stores } of opened.splice(0)) {
      const [store] = stores;
      const broken = store && (await violations(store));
      for (const one of stores) await one.close();
      database.drop();
      expect(broken ?? []).toEqual([]);
    }
  });
};
