// Stall meter: the longest event loop pause that the service itself caused.
import { closeSync, openSync, readSync } from "node:fs";
import { type Control, nowMs, startControl } from "./control.ts";
import { pauseOf, type Reading } from "./pause.ts";

/** The only timing bound of the tests: no client waits because the request of another one blocks the event loop. */
export const BOUND_MS = 250;
const TICK_MS = 20;
/** Unit of /proc/stat. */
const JIFFY_MS = 10;

/** Reads the idle time of all processors from the first line of /proc/stat. */
const openIdle = (): (() => number | null) => {
  if (process.platform !== "linux") return () => null;
  const file = openSync("/proc/stat", "r");
  const bytes = Buffer.alloc(256);
  process.once("exit", () => closeSync(file));
  return () => {
    const [idle = 0, iowait = 0] = bytes
      .toString("latin1", 0, readSync(file, bytes, 0, 256, 0))
      .split(/ +/)
      .slice(4, 6)
      .map(Number);
    return (idle + iowait) * JIFFY_MS;
  };
};

export type Stalls = { longestMs: number; wallMs: number; ticks: number };
export type StallMeter = {
  /** Begins to measure. Measurements can overlap; the meter stops with the last one. */
  begin(): () => void;
  /** Excludes work that is not the service's own: heavy work of the test, or the start of the service. */
  pause<T>(work: () => T | Promise<T>): Promise<T>;
  /** The longest pause so far. `wallMs`: the longest by the clock, regardless of its cause. */
  longest(): Stalls;
  stop(): void;
};

export const createStallMeter = (): StallMeter => {
  const idleMs = openIdle();
  const longest: Stalls = { longestMs: 0, wallMs: 0, ticks: 0 };
  let control: Control | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let [begun, paused] = [0, 0];
  let before: Reading | undefined;
  const read = (): Reading => {
    const { user, system } = process.threadCpuUsage();
    return { wallMs: nowMs(), cpuMs: (user + system) / 1000, idleMs: idleMs(), delayMs: control?.delayMs() ?? 0 };
  };
  /** Takes a sample and counts the time since the last one if the loop is late. */
  const look = (expectedMs: number) => {
    if (begun === 0 || paused > 0) return;
    const after = read();
    if (before) {
      longest.ticks += 1;
      longest.wallMs = Math.max(longest.wallMs, after.wallMs - before.wallMs - expectedMs);
      longest.longestMs = Math.max(longest.longestMs, pauseOf(before, after, expectedMs));
    }
    before = after;
  };
  const forget = () => {
    before = begun > 0 && paused === 0 ? read() : undefined;
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    control?.stop();
    control = undefined;
  };
  return {
    begin: () => {
      control ??= startControl();
      timer ??= setInterval(() => look(TICK_MS), TICK_MS);
      timer.unref();
      begun += 1;
      if (begun === 1) forget();
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        look(0);
        begun -= 1;
        if (begun > 0) return;
        before = undefined;
        clearInterval(timer);
        timer = undefined;
      };
    },
    pause: async (work) => {
      // The time before the pause counts for the service.
      look(0);
      paused += 1;
      before = undefined;
      try {
        return await work();
      } finally {
        paused -= 1;
        forget();
      }
    },
    longest: () => ({ ...longest }),
    stop,
  };
};
