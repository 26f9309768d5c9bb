// Opens stores for tests, and verifies their invariants when they close.
import { expect } from "bun:test";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { openSqliteInProcess } from "../../src/store/sqlite/in-process.ts";
import type { Store } from "../../src/store/store.ts";
import { violations } from "./fixture.ts";

/** The clock of a test may have skipped or stopped, so overdue deadlines are not checked here. */
const verifying = (store: Store): Store => ({
  ...store,
  close: async () => {
    // Parked generations are left out: tests that park assert them.
    const broken = (await violations(store, null))
      .map((result) => ({ ...result, offending: result.offending.filter(({ fault }) => !String(fault).startsWith("parked:")) }))
      .filter(({ offending }) => offending.length > 0);
    await store.close();
    expect(broken).toEqual([]);
  },
});

/** A store in this thread, on a file or in memory. */
export const openHere = async (options: Parameters<typeof openSqliteInProcess>[0]): Promise<Store> =>
  verifying(await openSqliteInProcess(options));

/** A store on a data directory, with the writing thread of the service. */
export const openDirectory = async (options: Parameters<typeof openSqliteStore>[0]): Promise<Store> =>
  verifying(await openSqliteStore(options));
