// Time as the service knows it: a clock that never runs backwards, and timers that may be far away.

/** Milliseconds since 1970 and one-shot timers. Tests and the simulation put their own in its place. */
export interface Clock {
  nowMs(): number;
  /** Calls `then` once after `ms` (at least 0); the function returned takes it back. */
  after(ms: number, then: () => void): () => void;
  /** How far `nowMs` is ahead of the machine's wall clock, ms; negative when behind. Absent where there is no other clock. */
  aheadMs?(): number;
}

/** Bun fires timers above 2^31-1 ms at once, so a long wait is armed in steps. */
const LONGEST_TIMER_MS = 3_600_000;

/**
 * The machine's clock. Elapsed time comes from the monotonic clock, so a jump of the wall clock while the process runs
 * neither fires deadlines early nor holds them back; `notBeforeMs` is the highest time a former process has seen.
 */
export const systemClock = (notBeforeMs = 0): Clock => {
  const startMs = Math.max(Date.now(), notBeforeMs);
  const startMono = performance.now();
  return {
    nowMs: () => Math.floor(startMs + (performance.now() - startMono)),
    aheadMs: () => startMs + (performance.now() - startMono) - Date.now(),
    after: (ms, then) => {
      let leftMs = Math.max(0, ms);
      let timer: ReturnType<typeof setTimeout>;
      const arm = () => {
        const stepMs = Math.min(leftMs, LONGEST_TIMER_MS);
        leftMs -= stepMs;
        timer = setTimeout(leftMs > 0 ? arm : then, stepMs);
      };
      arm();
      return () => clearTimeout(timer);
    },
  };
};
