// How much room a disk has left: a torture needs some to begin with, and is ended while its own logs can still be written.
import { statfsSync } from "node:fs";

/** Less free than this, and it does not begin. */
export const LEAST_FREE_BYTES = 128e6;
/** Less than this, and the kills end: peace and audit want room, too. */
const RESERVE_BYTES = 64e6;
/** Less than this, and a log of the torture itself may have been cut short: then nothing is proved by it. */
const FULL_BYTES = 2e6;
const LOOK_MS = 100;

export const freeBytesOf = (dir: string): number => {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
};

/** What a full disk is called by the system, the database and this program. */
export const reportsFullDisk = (text: string): boolean =>
  /\b(ENOSPC|EDQUOT|SQLITE_FULL)\b|no space left|database or disk is full|disk is full/i.test(text);

/** Looks at the free space until `stop`. */
export const watchSpace = (dir: string) => {
  let fewest = Number.POSITIVE_INFINITY;
  const look = () => {
    fewest = Math.min(fewest, freeBytesOf(dir));
  };
  look();
  const looking = setInterval(look, LOOK_MS);
  looking.unref();
  return {
    /** It has come to its reserve. */
    isShort: () => fewest < RESERVE_BYTES,
    /** Its reserve is gone, too. */
    isFull: () => fewest < FULL_BYTES,
    stop: () => clearInterval(looking),
  };
};
