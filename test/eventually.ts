// Waits for what has to come about, while everything else goes on.

/** Real milliseconds after which an expectation that never comes true fails its test. */
const PATIENCE_MS = 30_000;

/** Between two looks: a tenth of the time waited so far, within these bounds. A look is often a request, and takes from what it waits for. */
const [SHORTEST_MS, LONGEST_MS] = [2, 20];
/** The longest pause where each look moves time on: then the looks are what it waits for. */
export const MOVING_MS = 8;

type Look<T> = () => Promise<T | undefined | false | null> | T | undefined | false | null;

/** Calls again and again until it is told something. @throws Error when that does not come about */
export const eventually = async <T>(look: Look<T>, what = "what was expected", longestMs = LONGEST_MS): Promise<T> => {
  const beganMono = performance.now();
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    const waitedMs = performance.now() - beganMono;
    if (waitedMs > PATIENCE_MS) throw new Error(`${what} did not come about`);
    await new Promise((wake) => setTimeout(wake, Math.min(longestMs, Math.max(SHORTEST_MS, waitedMs / 10))));
  }
};
