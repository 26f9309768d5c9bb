// Waits for what has to come about, while everything else goes on.

/** Real milliseconds after which an expectation that never comes true fails its test. */
const PATIENCE_MS = 30_000;

type Look<T> = () => Promise<T | undefined | false | null> | T | undefined | false | null;

/** Calls again and again until it is told something. @throws Error when that does not come about */
export const eventually = async <T>(look: Look<T>, what = "what was expected"): Promise<T> => {
  const endMono = performance.now() + PATIENCE_MS;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (performance.now() > endMono) throw new Error(`${what} did not come about`);
    await new Promise((wake) => setTimeout(wake, 2));
  }
};
