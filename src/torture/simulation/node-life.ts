// One life of a node: its clock, its awaits, and its crossings.
//
// After its end none of its callbacks run.
import type { Clock } from "../../domain/clock.ts";
import type { Timeline } from "./timeline.ts";

/** Every point at which a process can end: before and after each external effect, and between its commits. */
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
  "webhook: before the bytes leave",
  "webhook: answer read, not stored",
  "upload: body received",
  "upload: bytes stored",
  "upload: bytes deleted",
  // Only in worlds with several nodes.
  "lease: renewed",
  "claim: written, not taken up",
  "drain: lease not given back",
  "answer: on disk",
  "answer: committed, still on disk",
  "decision: left for its owner",
  "decision: taken, not dropped",
] as const;
export type Crossing = (typeof CROSSINGS)[number];

/**
 * Relative probability of an end at a crossing. Rare crossings have higher values, so that 800 seeds end processes at each at
 * least seven times on average. A lease renewal is the most frequent crossing.
 */
const LIKELIER: Partial<Record<Crossing, number>> = {
  "boot: recovered": 8,
  "drain: begun": 16,
  "pin: kept": 3,
  "upload: body received": 4,
  "upload: bytes stored": 12,
  "upload: bytes deleted": 16,
  "cancel: before": 16,
  "cancel: answered": 24,
  "drain: lease not given back": 160,
  "lease: renewed": 0.03,
  "decision: stored, not delivered": 8,
  "answer: on disk": 80,
  "answer: committed, still on disk": 400,
  "decision: left for its owner": 32,
  "decision: taken, not dropped": 32,
};
export const timesOf = (crossing: Crossing): number => LIKELIER[crossing] ?? 1;
/** The most important crossing: the database records that a request may have been sent, and it has not been sent yet. */
const STOPS_MORE = 8;
/**
 * Relative probability of a stop at a crossing. It is 0 between the last lease check and the first byte of a submission. No node
 * can close that interval, and a stop there has the effect of a delayed request.
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
  /** The start of this life, by its own clock. */
  bornMs: number;
  /** Elapsed time by its machine's clock, including stops, ms. */
  monoMs(): number;
  isAlive(): boolean;
  /** The end of this life, true time; infinite while it is alive. */
  endedAtMs(): number;
  /** Stops the process for this time; it then continues with all its pending work. */
  freeze(ms: number): void;
  /** The end of the current or latest stop; true time. */
  frozenUntilMs(): number;
  /** Resolves when the process is not stopped; requests to it wait for this. */
  awake(): Promise<void>;
  /** The process may end here; the returned promise then never settles. */
  cross(crossing: Crossing): Promise<void>;
  /** Waits; an aborted signal ends the wait early. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs at the end of this turn of the event loop. */
  soon(then: () => void): void;
  end(): void;
};

/**
 * Begins a life.
 * @param wallMs the time of the machine's clock
 * @param rate the speed of its clocks, 1 for true time
 * @param notBeforeMs the highest time that a former life has stored
 * @param strikes whether the process ends at this crossing; it has then already been ended
 * @param stops how long the process is stopped at this crossing, ms; 0: not at all
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
  /** Timers that expired during a stop fire when it ends, in the order of their times. */
  const after = (ms: number, then: () => void) => {
    let cancelTimer: () => void = () => undefined;
    const arm = (atMs: number) => {
      cancelTimer = world.after(atMs, () => {
        if (world.nowMs() < frozenUntilMs) arm(frozenUntilMs - world.nowMs());
        else if (isAlive) then();
      });
    };
    arm(rate === 1 ? ms : Math.ceil(ms / rate));
    return () => cancelTimer();
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
          cancelTimer();
          signal?.removeEventListener("abort", rise);
          wake();
        };
        const cancelTimer = after(ms, rise);
        signal?.addEventListener("abort", rise);
      }),
    soon: (then) => void after(0, then),
    end: () => {
      isAlive = false;
      endedAtMs = Math.min(endedAtMs, world.nowMs());
    },
  };
};
