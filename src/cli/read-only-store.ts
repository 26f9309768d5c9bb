// Reading a service's books without owning them: for commands that look, while it runs or not.
import type { Settings } from "../config/schema.ts";
import type { StoreReads } from "../store/store.ts";
import { fetchSettings, requestFor } from "./control-client.ts";
import { type DirFlag, type Session, settingsOf } from "./session.ts";

/** Where the books are: a directory where one is named, else the database that the settings name. */
export type StoreLocation = { dir: string } | { database: Settings["store"] };

/** @throws BadSetting */
export const storeLocationOf = (session: Session, flags: DirFlag): StoreLocation => {
  const { data, store } = settingsOf(session, flags);
  return store.url === "" || flags.data !== undefined ? { dir: data.dir } : { database: store };
};

/**
 * Where a service has its books that runs in a directory: its own settings say so, whatever this command was told. A directory whose service
 * does not answer is taken for what it is.
 */
const servedPlace = async (place: StoreLocation): Promise<StoreLocation> => {
  if ("database" in place) return place;
  const served = await fetchSettings(place.dir).catch(() => undefined);
  return served === undefined || served.store.url === "" ? place : { database: served.store };
};

/** How an archive names the books that a command reads. */
export const readsOf = async (named: StoreLocation): Promise<{ dir: string } | { url: string; prepare: boolean }> => {
  const place = await servedPlace(named);
  return "dir" in place ? place : { url: place.database.url, prepare: place.database.prepared };
};

/**
 * Runs work over what is stored. `isServed`: whether a service runs over it.
 * @throws DirectoryUnusable, DatabaseUnavailable when there is nothing. @throws Moved when it lives elsewhere now.
 */
export const withReads = async <T>(
  named: StoreLocation,
  work: (reads: StoreReads, isServed: () => Promise<boolean>) => Promise<T>,
): Promise<T> => {
  const place = await servedPlace(named);
  if ("database" in place) {
    const { openPostgresReads } = await import("../store/postgres/read-only-client.ts");
    const reads = await openPostgresReads({ url: place.database.url, prepare: place.database.prepared });
    try {
      return await work(reads, reads.isServed);
    } finally {
      await reads.close();
    }
  }
  const { openSqliteReads } = await import("../store/sqlite/reads.ts");
  const reads = await openSqliteReads(place.dir, { insistsOnHere: true });
  try {
    return await work(reads, async () => (await requestFor(place.dir)) !== undefined);
  } finally {
    await reads.close();
  }
};
