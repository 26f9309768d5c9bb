// One at a time: a lock on a directory that ends with the process that holds it, however that ends.
import { Database } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { faultCode } from "../errors.ts";

/** A lock is freed when its handle is collected as garbage, so the handles live where nothing forgets them. */
const held = new Set<Database>();

/**
 * Takes the lock that stands at `path`, a file of its own.
 * @returns the function that gives it back; null when somebody else has it. @throws the system's fault where it cannot be made.
 */
export const takeTurn = (path: string): (() => void) | null => {
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
