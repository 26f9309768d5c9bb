// Counts download attempts for the files of one result and decides which files are given up.
import type { FileFailure, Tries } from "../media/port.ts";

/** Maximum downloads of a file that returns the same bytes each time. */
const MAX_SAME = 3;

export type ResultTries = Tries & {
  /** No further download follows, so a file that fails in the next one is given up. */
  last(): void;
  /** Number of given-up files. */
  lost(): number;
};

export const createCollectRetries = (): ResultTries => {
  const seen = new Map<number, { print: string; times: number }>();
  const givenUp = new Map<number, FileFailure>();
  let isLast = false;
  const isHopeless = (at: number, print: string | undefined): boolean => {
    if (print === undefined) return false;
    const before = seen.get(at);
    const times = before?.print === print ? before.times + 1 : 1;
    seen.set(at, { print, times });
    return times >= MAX_SAME;
  };
  return {
    last: () => {
      isLast = true;
    },
    lost: () => givenUp.size,
    lostAt: (at) => givenUp.get(at),
    failed: (at, failure) => {
      if (isHopeless(at, failure.print) || isLast) givenUp.set(at, failure);
      return givenUp.has(at);
    },
  };
};
