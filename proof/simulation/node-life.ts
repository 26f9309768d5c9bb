// One life of a node: its clock, its awaits, and the places where it can end; after the end nothing of it goes on.
import type { Clock } from "../../src/clock.ts";
import type { Timeline } from "./timeline.ts";

/** Every place where a process can end: on both sides of what it does to the outside, and between its commits. */
export const CROSSINGS = [
  "boot: database opened",
  "boot: recovered",
  "commit: before",
  "commit: admitted, not told",
  "commit: attempt begun",
  "commit: sending",
  "commit: accepted",
  "commit: settled",
  "commit: other",
  "read",
  "submit: before the bytes leave",
  "submit: answer read, not written down",
  "poll: before",
  "poll: answered",
  "find: before",
  "find: answered",
  "cancel: before",
  "cancel: answered",
  "collect: before",
  "collect: kept",
  "drain: begun",
] as const;
export type Crossing = (typeof CROSSINGS)[number];

export type NodeLife = {
  /** `n1.3`: the third life of the first node. */
  name: string;
  world: Timeline;
  clock: Clock;
  /** When it began, by its own clock. */
  bornMs: number;
  isAlive(): boolean;
  /** The process may end here. What awaits it then waits for ever. */
  cross(crossing: Crossing): Promise<void>;
  /** Waits; an aborted signal ends the wait early. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** At the end of this turn of the event loop. */
  soon(then: () => void): void;
  end(): void;
};

/**
 * @param wallMs what the machine's clock shows. @param notBeforeMs the highest time that a former life has stored.
 * @param strikes whether the process ends at this crossing; it has then been ended already.
 */
export const beginLife = (of: {
  name: string;
  world: Timeline;
  wallMs: () => number;
  notBeforeMs: number;
  strikes: (crossing: Crossing) => boolean;
}): NodeLife => {
  const { name, world } = of;
  const startMs = Math.max(Math.floor(of.wallMs()), of.notBeforeMs);
  const bornMs = world.nowMs();
  let isAlive = true;
  const never = new Promise<never>(() => undefined);
  const nowMs = () => startMs + (world.nowMs() - bornMs);
  const after = (ms: number, then: () => void) =>
    world.after(ms, () => {
      if (isAlive) then();
    });

  return {
    name,
    world,
    clock: { nowMs, after, aheadMs: () => nowMs() - of.wallMs() },
    bornMs: startMs,
    isAlive: () => isAlive,
    cross: async (crossing) => {
      if (isAlive && of.strikes(crossing)) isAlive = false;
      if (!isAlive) await never;
    },
    sleep: (ms, signal) =>
      new Promise((wake) => {
        if (signal?.aborted) {
          wake();
          return;
        }
        const rise = () => {
          takeBack();
          signal?.removeEventListener("abort", rise);
          wake();
        };
        const takeBack = after(ms, rise);
        signal?.addEventListener("abort", rise);
      }),
    soon: (then) => void after(0, then),
    end: () => {
      isAlive = false;
    },
  };
};
