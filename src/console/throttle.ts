// How often something may be tried: counted per name in windows of time, with room for so many names at once.
import type { Clock } from "../clock.ts";
import { ConsoleRefused } from "./ask.ts";

export type Throttle = {
  /** Counts one try. @throws ConsoleRefused `throttled`, with the seconds until the window ends */
  take(name: string): void;
  /** The try was none to be counted: whoever signs in well may do so often. */
  giveBack(name: string): void;
};

const MOST_NAMES = 10_000;

export const openThrottle = (clock: Clock, { most, windowMs }: { most: number; windowMs: number }): Throttle => {
  const windows = new Map<string, { endsAtMs: number; tries: number }>();
  return {
    take: (name) => {
      const nowMs = clock.nowMs();
      let window = windows.get(name);
      if (!window || nowMs >= window.endsAtMs) {
        // The oldest window goes first: maps keep the order in which names came.
        windows.delete(name);
        for (const oldest of windows.keys()) {
          if (windows.size < MOST_NAMES) break;
          windows.delete(oldest);
        }
        window = { endsAtMs: nowMs + windowMs, tries: 0 };
        windows.set(name, window);
      }
      if (window.tries >= most) {
        const waitS = Math.ceil((window.endsAtMs - nowMs) / 1000);
        throw new ConsoleRefused("throttled", `Too many attempts; try again in ${Math.ceil(waitS / 60)} min.`, waitS);
      }
      window.tries += 1;
    },
    giveBack: (name) => {
      const window = windows.get(name);
      if (window && window.tries > 0) window.tries -= 1;
    },
  };
};
