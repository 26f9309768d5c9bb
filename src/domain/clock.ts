// Clock of the service: it never runs backwards and supports long timers.

/** Milliseconds since 1970 and one-shot timers. Tests and the simulation replace it. */
export interface Clock {
  nowMs(): number;
  /** Calls `then` once after `ms` (at least 0); the returned function cancels it. */
  after(ms: number, then: () => void): () => void;
  /** How far `nowMs` is ahead of the machine's wall clock in milliseconds; negative if behind. Absent without another clock. */
  aheadMs?(): number;
}

/** Bun fires timers above 2^31-1 ms immediately, so a long wait is split into steps. */
const MAX_TIMER_MS = 3_600_000;

/** Returns the function that cancels it. */
const longTimer = (ms: number, then: () => void): (() => void) => {
  let leftMs = ms;
  let timer: ReturnType<typeof setTimeout>;
  const arm = () => {
    const stepMs = Math.min(leftMs, MAX_TIMER_MS);
    leftMs -= stepMs;
    timer = setTimeout(leftMs > 0 ? arm : then, stepMs);
  };
  arm();
  return () => clearTimeout(timer);
};

/**
 * The machine's clock. Elapsed time comes from the monotonic clock, so a jump of the wall clock neither fires deadlines early nor
 * delays them. `notBeforeMs` is the highest time that a former process has seen.
 */
export const systemClock = (notBeforeMs = 0): Clock => {
  const startMs = Math.max(Date.now(), notBeforeMs);
  const startMono = performance.now();
  return {
    nowMs: () => Math.floor(startMs + (performance.now() - startMono)),
    aheadMs: () => startMs + (performance.now() - startMono) - Date.now(),
    after: (ms, then) => {
      if (ms > MAX_TIMER_MS) return longTimer(ms, then);
      // A closure of few variables: each running generation has such a timer.
      const timer = setTimeout(then, Math.max(0, ms));
      return () => clearTimeout(timer);
    },
  };
};
