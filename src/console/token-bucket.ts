// How often something may be tried: a token bucket per name, with room for so many names at once.
import type { Clock } from "../domain/clock.ts";
import { ConsoleRefused } from "./request-context.ts";

export type Throttle = {
  /** Counts one try. @throws ConsoleRefused `throttled`, with the seconds until there is a token again */
  take(name: string): void;
  /** The try was none to be counted: whoever signs in well may do so often. */
  giveBack(name: string): void;
  /** Tries of late that were counted, as a fraction too: one is forgotten every `refillMs`. */
  used(name: string): number;
};
export type Bucket = {
  /** Tries that may be made at once. */
  burst: number;
  /** Time until one more is allowed, ms: nobody waits for longer. */
  refillMs: number;
};

const MOST_NAMES = 50_000;
const MINUTE_S = 60;

const waitText = (waitS: number): string => (waitS < MINUTE_S ? `${waitS} s` : `${Math.ceil(waitS / MINUTE_S)} min`);

export const createTokenBucket = (clock: Clock, { burst, refillMs }: Bucket): Throttle => {
  /** When each bucket is full again; maps keep the order, so that the one that was left alone longest comes first. */
  const fullAt = new Map<string, number>();
  const debtMs = (name: string): number => Math.max(0, (fullAt.get(name) ?? 0) - clock.nowMs());
  const set = (name: string, owedMs: number): void => {
    fullAt.delete(name);
    if (owedMs <= 0) return;
    for (const oldest of fullAt.keys()) {
      if (fullAt.size < MOST_NAMES) break;
      fullAt.delete(oldest);
    }
    fullAt.set(name, clock.nowMs() + owedMs);
  };
  return {
    take: (name) => {
      const owedMs = debtMs(name) + refillMs;
      const waitMs = owedMs - burst * refillMs;
      if (waitMs > 0) {
        const waitS = Math.ceil(waitMs / 1000);
        throw new ConsoleRefused("throttled", `Too many attempts; try again in ${waitText(waitS)}.`, waitS);
      }
      set(name, owedMs);
    },
    giveBack: (name) => set(name, debtMs(name) - refillMs),
    used: (name) => debtMs(name) / refillMs,
  };
};
