// Opens the store that the settings name: a file in the data directory, or a database that several nodes share.

import { statSync } from "node:fs";
import { join } from "node:path";
import { BadSetting, type Settings } from "../config/schema.ts";
import type { Log } from "../logging/events.ts";
import type { Migrated } from "./migration-report.ts";
import { openSqliteStore } from "./sqlite/client.ts";
import { DirectoryUnusable } from "./sqlite/errors.ts";
import { DATABASE_FILE } from "./sqlite/open.ts";
import type { Mode, Store } from "./store.ts";

/**
 * What a shared database rules out. @throws BadSetting
 */
export const insistOnShare = ({ store, backup }: Settings): void => {
  if (store.url !== "" && backup.dir !== "")
    throw new BadSetting(
      "GENROUTER_BACKUP__DIR is for a database in the data directory: take backups of PostgreSQL with its own tools, and leave this one empty",
    );
};

/** @throws DirectoryUnusable when this user may not look, which is not the same as nothing there. */
const isThere = (path: string, dir: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (fault) {
    const code = fault instanceof Error && "code" in fault ? String(fault.code) : "unknown fault";
    if (code === "ENOTDIR") return false;
    throw new DirectoryUnusable(
      `data directory ${dir}: it cannot be entered (${code}); give this user the right to, all the way down`,
    );
  }
};

/** Whether nothing can be kept yet: there is no file, and it is the store. */
export const isNewHere = ({ store, data }: Settings): boolean =>
  store.url === "" && !isThere(join(data.dir, DATABASE_FILE), data.dir);

/** @throws BadSetting, and the faults of src/store: one line each. */
export const openStore = async (settings: Settings, mode: Mode, log: Log): Promise<Store> => {
  const migrated = ({ from, to, copy }: Migrated): void =>
    log("schema migrated", {
      reason: `from schema ${from} to ${to}${copy === null ? "" : `; the copy made before is ${copy}, with which the release before starts`}`,
    });
  const { dir, network_disk: allowNetworkDisk } = settings.data;
  const { url, lease_s, prepared: prepare, read_connections: readers } = settings.store;
  if (url === "") return await openSqliteStore({ dir, mode, allowNetworkDisk, migrated });
  // Nothing of it is loaded where the store is a file.
  const { openPostgresStore } = await import("./postgres/client.ts");
  const home = { dir, allowNetworkDisk };
  return await openPostgresStore({ url, prepare, readers, mode, leaseMs: lease_s * 1000, home, migrated });
};
