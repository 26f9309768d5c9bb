// A clock for tests: it runs many times faster than life, and can be moved on by hand.
import type { Clock } from "../src/domain/clock.ts";

export type TestClock = Clock & {
  /** Lets `ms` pass: what falls due on the way fires in order, each at its time. */
  skip(ms: number): void;
  /** Moves time on by `ms` at once, as for a process that stood still: everything that fell due meanwhile fires at the end. */
  stall(ms: number): void;
  /** No time passes during this work: what another process does here takes the machine's time, which has nothing to do with this clock's. */
  during<T>(work: () => Promise<T>): Promise<T>;
  stop(): void;
};

/** How often a running clock looks at the time, and the most it takes for passed between two looks: a process that was not let run has not lived either. */
const LOOK_MS = 4;
const MOST_BETWEEN_LOOKS_MS = 12;

/** Timers that fire on the way of one skip. */
const MOST_ON_THE_WAY = 200;

type Timer = { dueAtMs: number; order: number; then: () => void };

/**
 * @param factor how many times faster than life; 0 stands still until it is moved.
 * @param startMs where it starts; a fixed day by default, so that tests do not depend on theirs.
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
      // What begins anew each time would go on for ever; the rest of a long way is passed at once.
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
