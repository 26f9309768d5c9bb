// The way every test opens a store: whatever the test did through mutations, the invariants hold when it is closed.
import { expect } from "bun:test";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { openSqliteInProcess } from "../../src/store/sqlite/in-process.ts";
import type { Store } from "../../src/store/store.ts";
import { violations } from "./fixture.ts";

/** Time may have been skipped or stood still, so what is overdue is for the tests that know their clock. */
const verifying = (store: Store): Store => ({
  ...store,
  close: async () => {
    // What is parked is told to a person and waits for one: tests that park say so themselves.
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

/** A data directory as its owner, with the writing thread of the service. */
export const openDirectory = async (options: Parameters<typeof openSqliteStore>[0]): Promise<Store> =>
  verifying(await openSqliteStore(options));
