// Disk space limits of a torture run.
//
// A run requires free space at its start, and ends while its own logs can still be written.
import { statfsSync } from "node:fs";

/** With less free space a run does not start. */
export const MIN_FREE_BYTES = 128e6;
/** With less free space the kills end, because quiescing and audit need space as well. */
const RESERVE_BYTES = 64e6;
/** With less free space a log of the run may be truncated, so that the run proves nothing. */
const FULL_BYTES = 2e6;
const POLL_MS = 100;

export const freeBytesOf = (dir: string): number => {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
};

/** Whether a text reports a full disk, in the terms of the system, the database or this program. */
export const reportsFullDisk = (text: string): boolean =>
  /\b(ENOSPC|EDQUOT|SQLITE_FULL)\b|no space left|database or disk is full|disk is full/i.test(text);

/** Samples the free space until `stop`. */
export const watchSpace = (dir: string) => {
  let fewest = Number.POSITIVE_INFINITY;
  const look = () => {
    fewest = Math.min(fewest, freeBytesOf(dir));
  };
  look();
  const looking = setInterval(look, POLL_MS);
  looking.unref();
  return {
    /** The free space is below the reserve. */
    isShort: () => fewest < RESERVE_BYTES,
    /** The reserve is used up as well. */
    isFull: () => fewest < FULL_BYTES,
    stop: () => clearInterval(looking),
  };
};
