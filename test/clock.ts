// A clock for tests: it runs many times faster than real time, and a test can move it forward.
import type { Clock } from "../src/domain/clock.ts";

export type TestClock = Clock & {
  /** Moves time forward by `ms`: timers that become due fire in order, each at its own time. */
  skip(ms: number): void;
  /** Moves time forward by `ms` at once, as for a suspended process: all timers that became due fire at the end. */
  stall(ms: number): void;
  /** Stops the clock during this work, for example while another process uses the machine's time. */
  during<T>(work: () => Promise<T>): Promise<T>;
  stop(): void;
};

/** Interval at which a running clock reads the time, and the most that it counts between two reads, to leave out suspensions. */
const LOOK_MS = 4;
const MOST_BETWEEN_LOOKS_MS = 12;

/** The most timers that fire during one skip. */
const MOST_ON_THE_WAY = 200;

type Timer = { dueAtMs: number; order: number; then: () => void };

/**
 * @param factor Speed relative to real time; with 0 the clock stops until a test moves it.
 * @param startMs Start of the clock; a fixed day by default, so that tests do not depend on the current date.
 */
export const testClock = (factor = 0, startMs = Date.UTC(2026, 9, 19, 12)): TestClock => {
  const timers = new Set<Timer>();
  let skippedMs = 0;
  let livedMs = 0;
  let lookedAt = performance.now();
  let order = 0;
  let wake: ReturnType<typeof setTimeout> | null = null;
  let isStopped = false;
  let standing = 0;

  const sinceLook = () => (standing > 0 ? 0 : Math.min(performance.now() - lookedAt, MOST_BETWEEN_LOOKS_MS));
  const look = () => {
    livedMs += sinceLook();
    lookedAt = performance.now();
  };
  const looks = factor > 0 ? setInterval(look, LOOK_MS) : null;
  looks?.unref();
  const nowMs = () => Math.floor(startMs + skippedMs + (livedMs + sinceLook()) * factor);
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
      const untilMs = nowMs() + ms;
      // Repeating timers would never end, so the rest of a long skip passes at once.
      for (let fired = 0; fired < MOST_ON_THE_WAY; fired += 1) {
        const next = first();
        if (!next || next.dueAtMs > untilMs) break;
        skippedMs += Math.max(0, next.dueAtMs - nowMs());
        timers.delete(next);
        next.then();
      }
      skippedMs += Math.max(0, untilMs - nowMs());
      fire();
    },
    stall: (ms) => {
      skippedMs += ms;
      fire();
    },
    during: async (work) => {
      look();
      standing += 1;
      try {
        return await work();
      } finally {
        standing -= 1;
        if (standing === 0) lookedAt = performance.now();
        arm();
      }
    },
    stop: () => {
      isStopped = true;
      timers.clear();
      if (wake) clearTimeout(wake);
      if (looks) clearInterval(looks);
    },
  };
};
