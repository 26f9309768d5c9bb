// A mark beside the database while its log may hold what the file does not, so that a log that is gone is missed.
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreUnknown } from "../mutations.ts";
import { faultText, StoreDamaged } from "./errors.ts";
import { DATABASE_FILE } from "./open.ts";

const MARK = "log-in-use";
const LOG = `${DATABASE_FILE}-wal`;
const SAYS = `While this file is here ${LOG} holds commits that ${DATABASE_FILE} does not have yet. Never delete the log.\n`;

/** Whether a directory bears the mark. */
export const isLogMarked = (dir: string): boolean => existsSync(join(dir, MARK));

/** The log exists and is about to be written: from here on it may not be missing. */
export const markLog = (dir: string): void => {
  try {
    writeFileSync(join(dir, MARK), SAYS, { mode: 0o600 });
  } catch {
    // On a full disk the directory can be used all the same; what is lost is a warning.
  }
};

/**
 * The log is about to be folded into the file and deleted. The mark goes first and for good, or a power cut could leave it alone.
 * @throws StoreUnknown the disk refused: the log must not be folded.
 */
export const unmarkLog = (dir: string): void => {
  const path = join(dir, MARK);
  if (!existsSync(path)) return;
  try {
    rmSync(path, { force: true });
    const names = openSync(dir, "r");
    fsyncSync(names);
    closeSync(names);
  } catch (fault) {
    // The log stays, with everything that is in it: the next start reads it.
    throw new StoreUnknown(`the WAL sentinel could not be deleted durably: ${faultText(fault)}`);
  }
};

/**
 * SQLite takes a database without its log for a whole one, and every commit since the last checkpoint is gone without a word.
 * @throws StoreDamaged the log must be there and is not.
 */
export const missLog = (dir: string): void => {
  const isGone = () => !existsSync(join(dir, LOG));
  // The log is looked for on both sides of the mark: an owner that opens or closes meanwhile changes them in an order.
  if (isGone() && existsSync(join(dir, MARK)) && isGone())
    throw new StoreDamaged(
      `${join(dir, LOG)} is missing and held the last commits: put it back, or restore a backup; once a backup is restored, or if another program folded it into ${DATABASE_FILE}, delete ${join(dir, MARK)} and start again`,
    );
};
