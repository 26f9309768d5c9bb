// Background gauge: a slow value, computed in the background and returned from cache meanwhile.

export type Pace = {
  nowMs: () => number;
  /** A value younger than this is returned without a computation. */
  keptMs?: number;
};

/** A caller waits at most this long, then receives the previous value. */
const PATIENCE_MS = 500;
/** A computation that takes longer than this is repeated only after a multiple of its duration. */
const QUICK_MS = 250;
const REST_TIMES = 20;

/** @returns a function for the value; `undefined` until the first computation ends. Rejects with the error of `work`. */
export const createBackgroundGauge = <T>(work: () => Promise<T>, { nowMs, keptMs = 0 }: Pace): (() => Promise<T | undefined>) => {
  let last: { value: T; atMs: number; restMs: number; tookMs: number } | undefined;
  let running: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    const startedMono = performance.now();
    return work()
      .then((value) => {
        const tookMs = performance.now() - startedMono;
        last = { value, atMs: nowMs(), restMs: performance.now(), tookMs };
        return value;
      })
      .finally(() => {
        running = undefined;
      });
  };
  const isFresh = ({ atMs, restMs, tookMs }: NonNullable<typeof last>): boolean =>
    nowMs() - atMs < keptMs || (tookMs > QUICK_MS && performance.now() - restMs < tookMs * REST_TIMES);
  return async () => {
    if (last && !running && isFresh(last)) return last.value;
    running ??= begin();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<T | undefined>((give) => {
      timer = setTimeout(() => give(last?.value), PATIENCE_MS);
    });
    // A failure may occur after the last caller has left; the next call reports it.
    running.catch(() => undefined);
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  };
};
