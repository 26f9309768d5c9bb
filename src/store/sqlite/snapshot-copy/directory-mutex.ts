// Mutex of a directory that is released when its process ends.
import { Database } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { faultCode } from "../errors.ts";

/** A lock is released when its handle is garbage-collected, so handles are kept in a set. */
const held = new Set<Database>();

/**
 * Takes the lock file at `path`.
 * @returns the release function; null if another process holds it. @throws the system error if it cannot be created.
 */
export const acquireMutex = (path: string): (() => void) | null => {
  const lock = new Database(path, { readwrite: true, create: true });
  try {
    chmodSync(path, 0o600);
    lock.run("PRAGMA busy_timeout = 0");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
  } catch (fault) {
    lock.close();
    if (faultCode(fault).startsWith("SQLITE_BUSY")) return null;
    throw fault;
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
};
