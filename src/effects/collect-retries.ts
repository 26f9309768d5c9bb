// What became of the tries at the files of one result: a file that stays as it is is not fetched for ever, and does not lose the others.
import type { FileFailure, Tries } from "../media/port.ts";

/** A file is fetched so often in all when the same comes each time: twice more than once. */
const MOST_SAME = 3;

export type ResultTries = Tries & {
  /** No more tries will follow: what fails in the next one is given up. */
  last(): void;
  /** Files that are given up. */
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
    return times >= MOST_SAME;
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
