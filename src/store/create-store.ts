// Opens the store of the configuration: SQLite in the data directory, or PostgreSQL.

import { statSync } from "node:fs";
import { join } from "node:path";
import { BadSetting, type Settings } from "../config/schema.ts";
import type { Log } from "../logging/events.ts";
import type { Migrated } from "./migration-report.ts";
import { openSqliteStore } from "./sqlite/client.ts";
import { DirectoryUnusable } from "./sqlite/errors.ts";
import { DATABASE_FILE } from "./sqlite/open.ts";
import type { Mode, Store } from "./store.ts";

/** Rejects settings that a shared database excludes. @throws BadSetting */
export const requireNoBackupDir = ({ store, backup }: Settings): void => {
  if (store.url !== "" && backup.dir !== "")
    throw new BadSetting(
      "GENROUTER_BACKUP__DIR is for a database in the data directory: take backups of PostgreSQL with its own tools, and leave this one empty",
    );
};

/** @throws DirectoryUnusable if this user may not read the directory, which differs from a missing file. */
const isThere = (path: string, dir: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (fault) {
    const code = fault instanceof Error && "code" in fault ? String(fault.code) : "unknown fault";
    if (code === "ENOTDIR") return false;
    throw new DirectoryUnusable(
      `data directory ${dir}: it cannot be entered (${code}); grant this user access to the directory and its parents`,
    );
  }
};

/** Whether the store is SQLite and its file does not exist yet. */
export const isNewHere = ({ store, data }: Settings): boolean =>
  store.url === "" && !isThere(join(data.dir, DATABASE_FILE), data.dir);

/** @throws BadSetting and the errors of src/store, one line each. */
export const openStore = async (settings: Settings, mode: Mode, log: Log): Promise<Store> => {
  const migrated = ({ from, to, copy }: Migrated): void =>
    log("schema migrated", {
      reason: `from schema ${from} to ${to}${copy === null ? "" : `; the copy made before is ${copy}, with which the release before starts`}`,
    });
  const { dir, network_disk: allowNetworkDisk } = settings.data;
  const { url, lease_s, prepared: prepare, read_connections: readers } = settings.store;
  const lowBalanceCredits = settings.credits.low_balance_alert_usd * 100;
  if (url === "") return await openSqliteStore({ dir, mode, allowNetworkDisk, migrated, lowBalanceCredits });
  // The PostgreSQL driver is not loaded with SQLite.
  const { openPostgresStore } = await import("./postgres/client.ts");
  const home = { dir, allowNetworkDisk };
  return await openPostgresStore({ url, prepare, readers, mode, leaseMs: lease_s * 1000, home, migrated, lowBalanceCredits });
};
