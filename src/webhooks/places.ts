// Places of concurrent tries: prompt, unknown and slow receivers have places of their own.
import type { TakePlace } from "../../actors/webhooks/lane.ts";
import type { ReceiverSpeed } from "../../actors/webhooks/receiver-speed.ts";
import { createFairQueue } from "../collections/fair-queue.ts";

/**
 * Maximum concurrent tries, in total and for each account. A try keeps a place of prompt or unknown receivers for a second at most,
 * so an account that waits gets one within a second, whatever the receivers of other accounts do.
 */
const PLACES: Readonly<Record<ReceiverSpeed, { places: number; perAccount: number }>> = {
  prompt: { places: 256, perAccount: 64 },
  unknown: { places: 64, perAccount: 4 },
  slow: { places: 128, perAccount: 16 },
};

/** Late tries count against the slow places of their account only: at most 10 s of the other places, about 3,200 in all. */
export const createPlaces = (): TakePlace => {
  const queueOf = (speed: ReceiverSpeed) => createFairQueue({ ...PLACES[speed], cost: 1 });
  const queues = { prompt: queueOf("prompt"), unknown: queueOf("unknown"), slow: queueOf("slow") };
  return async (accountSeq, speed, signal) => {
    const who = { share: "webhooks", account: String(accountSeq) };
    let leave = await queues[speed].take(who, signal);
    if (leave === undefined) return undefined;
    return {
      leave: () => leave?.(),
      giveToOthers: () => {
        if (speed === "slow") return;
        leave?.();
        leave = queues.slow.count(who);
      },
    };
  };
};
