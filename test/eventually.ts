// Waits until a condition holds, while everything else continues.

/** Real milliseconds after which a condition that does not hold fails its test. */
const PATIENCE_MS = 30_000;

/** Bounds of the pause between two checks, which is a tenth of the time so far. A check often costs the service a request. */
const [SHORTEST_MS, LONGEST_MS] = [2, 20];
/** The longest pause when each check moves the clock forward. */
export const MOVING_MS = 8;

type Look<T> = () => Promise<T | undefined | false | null> | T | undefined | false | null;

/** Calls `look` repeatedly until it returns a truthy value. @throws Error when that does not happen in time */
export const eventually = async <T>(look: Look<T>, what = "the expected condition", longestMs = LONGEST_MS): Promise<T> => {
  const beganMono = performance.now();
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    const waitedMs = performance.now() - beganMono;
    if (waitedMs > PATIENCE_MS) throw new Error(`${what} did not happen`);
    await new Promise((wake) => setTimeout(wake, Math.min(longestMs, Math.max(SHORTEST_MS, waitedMs / 10))));
  }
};
