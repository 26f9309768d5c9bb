// Speed of receivers, remembered for each queue also while the queue does not exist.
import { ClockCache } from "../../src/collections/clock-cache.ts";

/**
 * `unknown`: has not proved itself, so its tries take few places. `prompt`: its last answers were successful and came within
 * `PROMPT_MS`. `slow`: the last answer was late or a failure.
 */
export type ReceiverSpeed = "unknown" | "prompt" | "slow";

/** A try that takes longer gives its place to others. */
export const PROMPT_MS = 1000;
/** Minimum number of remembered queues. A forgotten one is unknown again. */
const REMEMBERED = 50_000;

export type ReceiverSpeeds = {
  of(lane: number): ReceiverSpeed;
  /** Notes an answer, or that one is late. After a slow one, the first prompt one makes the receiver unknown. */
  note(lane: number, isPrompt: boolean): void;
};

export const createReceiverSpeeds = (remembered = REMEMBERED): ReceiverSpeeds => {
  const known = new ClockCache<number, { speed: ReceiverSpeed }>(remembered);
  const of = (lane: number): ReceiverSpeed => known.get(lane)?.speed ?? "unknown";
  return {
    of,
    note: (lane, isPrompt) => {
      const better = of(lane) === "slow" ? "unknown" : "prompt";
      known.set(lane, { speed: isPrompt ? better : "slow" });
    },
  };
};
