// Everything that may be read, over one connection; and the same for a directory that another process may own.
import type { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { StoreReads } from "../store.ts";
import { DirectoryUnusable, faultCode, faultText, tellingDamage } from "./faults.ts";
import { missLog } from "./log-mark.ts";
import { checkSchema, schemaVersion } from "./migrate.ts";
import { DATABASE_FILE, openReader } from "./open.ts";
import { prepareAccountReads } from "./read/accounts.ts";
import { prepareAttemptReads } from "./read/attempts.ts";
import { prepareGenerationReads } from "./read/generations.ts";
import { prepareKeyReads } from "./read/keys.ts";
import { prepareListedReads } from "./read/listed.ts";
import { prepareOperatorReads } from "./read/operator.ts";
import { prepareOrphanReads } from "./read/orphans.ts";
import { preparePeopleReads } from "./read/people.ts";
import { prepareProviderReads } from "./read/providers.ts";
import { preparePurchaseReads } from "./read/purchases.ts";
import { prepareRecoveryReads } from "./read/recovery.ts";
import { prepareSumReads } from "./read/sums.ts";
import { prepareUsageReads } from "./read/usage.ts";
import { verifyAll } from "./verify/all.ts";
import { verifyOnThreads } from "./verify/threads.ts";

/** The reads of the port over an open connection; `close` closes it. */
export const readsOver = (db: Database): StoreReads => ({
  ...prepareGenerationReads(db),
  ...prepareAttemptReads(db),
  ...prepareAccountReads(db),
  ...prepareKeyReads(db),
  ...prepareUsageReads(db),
  ...prepareListedReads(db),
  ...prepareOrphanReads(db),
  ...prepareOperatorReads(db),
  ...prepareRecoveryReads(db),
  ...prepareProviderReads(db),
  ...prepareSumReads(db),
  ...preparePurchaseReads(db),
  ...preparePeopleReads(db),
  verify: async (nowMs) => verifyAll(db, nowMs),
  close: async () => db.close(),
});

/** From this size on the checks take seconds, and threads to run them are worth their start. */
const LARGE_BYTES = 67_108_864;

/**
 * Reads a data directory without a claim to it: while its owner runs, or a copy of it.
 * @param largeBytes a file of so many is verified on several cores.
 * @throws DirectoryUnusable there is no database in it. @throws WrongSchema, StoreDamaged.
 */
export const openSqliteReads = async (dir: string, largeBytes = LARGE_BYTES): Promise<StoreReads> => {
  const path = join(dir, DATABASE_FILE);
  if (!existsSync(path))
    throw new DirectoryUnusable(
      `data directory ${dir}: there is no database in it; name the directory the service was started with`,
    );
  missLog(dir);
  let db: Database | undefined;
  try {
    return tellingDamage(path, () => {
      db = openReader(path);
      if (schemaVersion(db) === 0)
        throw new DirectoryUnusable(`data directory ${dir}: its database is still empty; start the service once`);
      checkSchema(db);
      const reads = readsOver(db);
      const isLarge = statSync(path).size >= largeBytes;
      return isLarge ? { ...reads, verify: (nowMs, tell) => verifyOnThreads(path, nowMs, tell) } : reads;
    });
  } catch (fault) {
    db?.close();
    const code = faultCode(fault);
    if (!code.startsWith("SQLITE_")) throw fault;
    // Even a reader shares an index of the log with the owner, a file that SQLite makes beside the database.
    const fix = /^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code)
      ? "; reading needs to write beside it: where the disk is read-only, copy the directory to another and name the copy with --data"
      : "";
    throw new DirectoryUnusable(`data directory ${dir}: its database cannot be read (${faultText(fault)})${fix}`);
  }
};
