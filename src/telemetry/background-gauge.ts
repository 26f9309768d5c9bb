// A figure that may take long to work out: worked out beside the service, and told as it last was while that lasts.

export type Pace = {
  nowMs: () => number;
  /** A value younger than this is told as it is. */
  keptMs?: number;
};

/** Who asks waits so long, then is told the value before. */
const PATIENCE_MS = 500;
/** What took longer than this is worked out again only after a multiple of the time it took. */
const QUICK_MS = 250;
const REST_TIMES = 20;

/** @returns the value, `undefined` as long as it was never worked out. Rejects with what `work` threw. */
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
    // Nobody may be listening any more when it fails; the next question is told.
    running.catch(() => undefined);
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  };
};
