// Opens the store of a service read-only, while the service runs or not.
import type { Settings } from "../config/schema.ts";
import type { StoreReads } from "../store/store.ts";
import { fetchSettings, requestFor } from "./control-client.ts";
import { type DirFlag, type Session, settingsOf } from "./session.ts";

/** Location of the store: a directory if one is named, else the configured database. */
export type StoreLocation = { dir: string } | { database: Settings["store"] };

/** @throws BadSetting */
export const storeLocationOf = (session: Session, flags: DirFlag): StoreLocation => {
  const { data, store } = settingsOf(session, flags);
  return store.url === "" || flags.data !== undefined ? { dir: data.dir } : { database: store };
};

/**
 * Location of the store of the service that runs in a directory, from the service's own settings. If no service answers, the
 * directory itself is the store.
 */
const servedPlace = async (place: StoreLocation): Promise<StoreLocation> => {
  if ("database" in place) return place;
  const served = await fetchSettings(place.dir).catch(() => undefined);
  return served === undefined || served.store.url === "" ? place : { database: served.store };
};

/** Location of the store in the form that the archive uses. */
export const readsOf = async (named: StoreLocation): Promise<{ dir: string } | { url: string; prepare: boolean }> => {
  const place = await servedPlace(named);
  return "dir" in place ? place : { url: place.database.url, prepare: place.database.prepared };
};

/**
 * Runs work with a read-only store. `isServed` tests whether a service uses the store.
 * @throws DirectoryUnusable, DatabaseUnavailable if there is no store. @throws StoreMigrated if the store was migrated.
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
