// Record of a clean close: a start checks the pages of a database that anything has written since.
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "./open.ts";

const RECORD = "closed";

/** Identifies the file and its last change. A write changes the time, and so does a copy; no program can set it. */
const stateOf = (dir: string): string => {
  const { ino, size, ctimeNs } = statSync(join(dir, DATABASE_FILE), { bigint: true });
  return `${ino} ${size} ${ctimeNs}\n`;
};

/** Records that the database is closed and complete. A process that is killed records nothing. */
export const recordClose = (dir: string): void => {
  try {
    writeFileSync(join(dir, RECORD), stateOf(dir), { mode: 0o600 });
  } catch {
    // Without a record, the next start checks the pages.
  }
};

/** Whether nothing has written the database since its clean close. Removes the record: the caller is about to write. */
export const takeCloseRecord = (dir: string): boolean => {
  try {
    const isUnchanged = readFileSync(join(dir, RECORD), "utf8") === stateOf(dir);
    rmSync(join(dir, RECORD));
    return isUnchanged;
  } catch {
    return false;
  }
};
