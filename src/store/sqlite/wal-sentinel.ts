// WAL sentinel: a file beside the database that reveals a missing WAL.
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreUnknown } from "../../domain/commit-errors.ts";
import { faultText, StoreDamaged } from "./errors.ts";
import { DATABASE_FILE } from "./open.ts";

const MARK = "log-in-use";
const LOG = `${DATABASE_FILE}-wal`;
const TEXT = `While this file is here ${LOG} holds commits that ${DATABASE_FILE} does not have yet. Never delete the log.\n`;

/** Whether a directory has the sentinel. */
export const isLogMarked = (dir: string): boolean => existsSync(join(dir, MARK));

/** The WAL exists and is about to be written; from now on it must not be missing. */
export const markLog = (dir: string): void => {
  try {
    writeFileSync(join(dir, MARK), TEXT, { mode: 0o600 });
  } catch {
    // On a full disk the directory stays usable; only the warning is lost.
  }
};

/**
 * The WAL is about to be checkpointed and deleted. The sentinel is deleted first and durably, otherwise a power failure could
 * leave it alone.
 * @throws StoreUnknown if the disk rejects it; then the WAL must not be checkpointed.
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
    // The WAL stays with its contents, and the next start reads it.
    throw new StoreUnknown(`the WAL sentinel could not be deleted durably: ${faultText(fault)}`);
  }
};

/**
 * SQLite opens a database without its WAL silently and loses every commit since the last checkpoint.
 * @throws StoreDamaged if the WAL is missing.
 */
export const missLog = (dir: string): void => {
  const isMissing = () => !existsSync(join(dir, LOG));
  // The WAL is checked before and after the sentinel, because an owner that opens or closes meanwhile changes both in a fixed
  // order.
  if (isMissing() && existsSync(join(dir, MARK)) && isMissing())
    throw new StoreDamaged(
      `${join(dir, LOG)} is missing and held the last commits: put it back, or restore a backup; once a backup is restored, or if another program folded it into ${DATABASE_FILE}, delete ${join(dir, MARK)} and start again`,
    );
};
