// One life of a node: its clock, its awaits, and the places where it can end; after the end nothing of it goes on.
import type { Clock } from "../../domain/clock.ts";
import type { Timeline } from "./timeline.ts";

/** Every place where a process can end: on both sides of what it does to the outside, and between its commits. */
export const CROSSINGS = [
  "boot: database opened",
  "boot: recovered",
  "commit: before",
  "commit: admitted, not answered",
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
  "pin: before",
  "pin: kept",
  "collect: before",
  "collect: kept",
  "decision: stored, not delivered",
  "drain: begun",
  // Only of one of several nodes.
  "lease: renewed",
  "claim: written, not taken up",
  "drain: lease not given back",
  "answer: on disk",
  "decision: left for its owner",
  "decision: taken, not dropped",
] as const;
export type Crossing = (typeof CROSSINGS)[number];

/**
 * How much likelier a process ends at a place that it comes by seldom, so that 800 seeds come to each at least ten times on average; renewing a
 * lease is what it does most.
 */
const LIKELIER: Partial<Record<Crossing, number>> = {
  "boot: recovered": 8,
  "drain: begun": 16,
  "pin: kept": 3,
  "cancel: before": 16,
  "cancel: answered": 24,
  "drain: lease not given back": 48,
  "lease: renewed": 0.02,
  "decision: stored, not delivered": 8,
  "answer: on disk": 16,
  "decision: left for its owner": 32,
  "decision: taken, not dropped": 32,
};
export const timesOf = (crossing: Crossing): number => LIKELIER[crossing] ?? 1;
/** Of all places the one that matters most: it is written down that a request may be out, and it is not out yet. */
const STOPS_MORE = 8;
/**
 * How much likelier than elsewhere a process is stopped at a place. Between its last look at its lease and the first byte of a submission it
 * never is: that moment no node can close, and what it could do is what a request that is late on its way does.
 */
export const stopTimesOf = (crossing: Crossing): number => {
  if (crossing === "submit: before the bytes leave" || crossing.startsWith("boot")) return 0;
  return crossing === "commit: sending" ? STOPS_MORE : timesOf(crossing);
};

export type NodeLife = {
  /** `n1.3`: the third life of the first node. */
  name: string;
  world: Timeline;
  clock: Clock;
  /** When it began, by its own clock. */
  bornMs: number;
  /** Time that passes also while it is stopped, by its machine's clock, ms. */
  monoMs(): number;
  isAlive(): boolean;
  /** When it ended, true time; infinite while it lives. */
  endedAtMs(): number;
  /** The process is stopped for so long, and then goes on with everything it had in mind. */
  freeze(ms: number): void;
  /** Until when it is stopped, or was the last time; true time. */
  frozenUntilMs(): number;
  /** Resolves when it is not stopped: whoever asks it something waits. */
  awake(): Promise<void>;
  /** The process may end here. What awaits it then waits for ever. */
  cross(crossing: Crossing): Promise<void>;
  /** Waits; an aborted signal ends the wait early. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** At the end of this turn of the event loop. */
  soon(then: () => void): void;
  end(): void;
};

/**
 * @param wallMs what the machine's clock shows. @param rate how fast its clocks run, 1 for true time. @param notBeforeMs the highest time
 * that a former life has stored. @param strikes whether the process ends at this crossing; it has then been ended already.
 * @param stops how long the process is stopped at this crossing, ms; 0: it is not.
 */
export const beginLife = (of: {
  name: string;
  world: Timeline;
  wallMs: () => number;
  rate: number;
  notBeforeMs: number;
  strikes: (crossing: Crossing) => boolean;
  stops: (crossing: Crossing) => number;
}): NodeLife => {
  const { name, world, rate } = of;
  const startMs = Math.max(Math.floor(of.wallMs()), of.notBeforeMs);
  const bornMs = world.nowMs();
  let isAlive = true;
  let endedAtMs = Number.POSITIVE_INFINITY;
  const never = new Promise<never>(() => undefined);
  const nowMs = () => startMs + Math.floor((world.nowMs() - bornMs) * rate);
  let frozenUntilMs = 0;
  /** What was due while the process was stopped comes at once when it goes on, in the order in which it was due. */
  const after = (ms: number, then: () => void) => {
    let takeBack: () => void = () => undefined;
    const arm = (atMs: number) => {
      takeBack = world.after(atMs, () => {
        if (world.nowMs() < frozenUntilMs) arm(frozenUntilMs - world.nowMs());
        else if (isAlive) then();
      });
    };
    arm(rate === 1 ? ms : Math.ceil(ms / rate));
    return () => takeBack();
  };

  return {
    name,
    world,
    clock: { nowMs, after, aheadMs: () => nowMs() - of.wallMs() },
    bornMs: startMs,
    monoMs: () => world.nowMs() * rate,
    isAlive: () => isAlive,
    endedAtMs: () => endedAtMs,
    freeze: (ms) => {
      frozenUntilMs = Math.max(frozenUntilMs, world.nowMs() + Math.floor(ms));
    },
    frozenUntilMs: () => frozenUntilMs,
    awake: () => (world.nowMs() < frozenUntilMs ? new Promise((wake) => after(0, wake)) : Promise.resolve()),
    cross: async (crossing) => {
      if (isAlive && of.strikes(crossing)) isAlive = false;
      if (!isAlive) await never;
      const ms = of.stops(crossing);
      if (ms === 0) return;
      frozenUntilMs = Math.max(frozenUntilMs, world.nowMs() + Math.floor(ms));
      await new Promise<void>((wake) => void after(0, wake));
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
      endedAtMs = Math.min(endedAtMs, world.nowMs());
    },
  };
};
