// Opens stores for tests, and verifies their invariants when they close.
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { openSqliteInProcess, openSqliteOver } from "../../src/store/sqlite/in-process.ts";
import { migrate } from "../../src/store/sqlite/migrate.ts";
import { DEFAULT_PRAGMAS, openWriter, writerOver } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { violations } from "./fixture.ts";

/** `isVerified`: whether the caller has just verified the store, so that closing does not repeat it. */
type Verified = { isVerified?: () => boolean };

/** The clock of a test may have skipped or stopped, so overdue deadlines are not checked here. */
const verifying = (store: Store, { isVerified = () => false }: Verified): Store => ({
  ...store,
  close: async () => {
    // Parked generations are left out: tests that park assert them.
    const broken = (isVerified() ? [] : await violations(store, null))
      .map((result) => ({ ...result, offending: result.offending.filter(({ fault }) => !String(fault).startsWith("parked:")) }))
      .filter(({ offending }) => offending.length > 0);
    await store.close();
    expect(broken).toEqual([]);
  },
});

type HereOptions = Parameters<typeof openSqliteInProcess>[0];

let migrated: Uint8Array | undefined;
/** A database in memory that is already migrated: the schema is created once in a process and then copied. */
const openMigrated = (pragmas: HereOptions["pragmas"]): Database => {
  if (migrated === undefined) {
    const first = openWriter(":memory:");
    migrate(first, ":memory:", 0);
    migrated = first.serialize();
    first.close();
  }
  return writerOver(Database.deserialize(migrated, { strict: true }), ":memory:", { ...DEFAULT_PRAGMAS, ...pragmas });
};

const openInProcess = (options: HereOptions): Promise<Store> => {
  const { path, mode, nowMs = Date.now(), pragmas, lowBalanceCredits = 0 } = options;
  return path === ":memory:"
    ? openSqliteOver(openMigrated(pragmas), { mode, nowMs, lowBalanceCredits })
    : openSqliteInProcess(options);
};

/** A store in this thread, on a file or in memory. */
export const openHere = async (options: HereOptions & Verified): Promise<Store> =>
  verifying(await openInProcess(options), options);

/** A store on a data directory, with the writing thread of the service. */
export const openDirectory = async (options: Parameters<typeof openSqliteStore>[0] & Verified): Promise<Store> =>
  verifying(await openSqliteStore(options), options);
