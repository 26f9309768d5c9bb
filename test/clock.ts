// A clock for tests: it runs many times faster than life, and can be moved on by hand.
import type { Clock } from "../src/clock.ts";

export type TestClock = Clock & {
  /** Moves time on by `ms` at once; everything that falls due fires in order. */
  skip(ms: number): void;
  stop(): void;
};

type Timer = { dueAtMs: number; order: number; then: () => void };

/**
 * @param factor how many times faster than life; 0 stands still until it is moved.
 * @param startMs where it starts; a fixed day by default, so that tests do not depend on theirs.
 */
export const testClock = (factor = 0, startMs = Date.UTC(2026, 9, 19, 12)): TestClock => {
  const timers = new Set<Timer>();
  const startMono = performance.now();
  let skippedMs = 0;
  let order = 0;
  let wake: ReturnType<typeof setTimeout> | null = null;
  let isStopped = false;

  const nowMs = () => Math.floor(startMs + skippedMs + (performance.now() - startMono) * factor);
  const first = () => {
    let next: Timer | null = null;
    for (const timer of timers)
      if (!next || timer.dueAtMs < next.dueAtMs || (timer.dueAtMs === next.dueAtMs && timer.order < next.order)) next = timer;
    return next;
  };
  const fire = () => {
    for (let next = first(); next && next.dueAtMs <= nowMs(); next = first()) {
      timers.delete(next);
      next.then();
    }
    arm();
  };
  const arm = () => {
    if (wake) clearTimeout(wake);
    wake = null;
    const next = first();
    if (next && factor > 0 && !isStopped) wake = setTimeout(fire, Math.max(0, (next.dueAtMs - nowMs()) / factor));
  };

  return {
    nowMs,
    after: (ms, then) => {
      const timer = { dueAtMs: nowMs() + Math.max(0, ms), order: order++, then };
      timers.add(timer);
      arm();
      return () => {
        timers.delete(timer);
      };
    },
    skip: (ms) => {
      skippedMs += ms;
      fire();
    },
    stop: () => {
      isStopped = true;
      timers.clear();
      if (wake) clearTimeout(wake);
    },
  };
};
