// Token-bucket rate limiter with one bucket per name and a bounded number of names.
import type { Clock } from "../domain/clock.ts";
import { ConsoleRefused } from "./request-context.ts";

export type Throttle = {
  /** Counts one attempt. @throws ConsoleRefused `throttled`, with the seconds until a token is available */
  take(name: string): void;
  /** Uncounts an attempt, such as a correct sign-in. */
  giveBack(name: string): void;
  /** Number of counted attempts, including fractions; it decreases by one every `refillMs`. */
  used(name: string): number;
};
export type Bucket = {
  /** Number of attempts that may be made at once. */
  burst: number;
  /** Time until one more attempt is allowed, ms; the maximum wait. */
  refillMs: number;
};

const MAX_NAMES = 50_000;
const MINUTE_S = 60;

const waitText = (waitS: number): string => (waitS < MINUTE_S ? `${waitS} s` : `${Math.ceil(waitS / MINUTE_S)} min`);

export const createTokenBucket = (clock: Clock, { burst, refillMs }: Bucket): Throttle => {
  /** Time when each bucket is full again. The map keeps insertion order, so the least recently used bucket is first. */
  const fullAt = new Map<string, number>();
  const debtMs = (name: string): number => Math.max(0, (fullAt.get(name) ?? 0) - clock.nowMs());
  const set = (name: string, owedMs: number): void => {
    fullAt.delete(name);
    if (owedMs <= 0) return;
    for (const oldest of fullAt.keys()) {
      if (fullAt.size < MAX_NAMES) break;
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
