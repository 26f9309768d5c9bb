// Long pauses of all nodes at the end of a world, after which retries and deletions are due.
//
// Hours without a node cost no events, so a world can wait for the whole schedule of retries.
import type { Node } from "./node-environment.ts";
import type { Timeline } from "./timeline.ts";

/** The time until the last piece of some work is due, ms; null: nothing is left. */
export type LeftWork = () => Promise<number | null>;

/** The nodes run for this time between two pauses: a takeover takes two leases, and a sweep comes once a minute. */
const AWAKE_MS = 5 * 60_000;
const CHECK_MS = 20_000;
/** A node that finds work due longer than this after its start has lost it. */
const MAX_PAUSES = 4;
/** Clocks of nodes are exact after a pause, and may be ahead by the last time that the store has seen. */
const MARGIN_MS = 1_000;

/** @param live runs the world until a time. @returns the number of pauses; null: work was left after all of them */
export const passLongPauses = async (of: {
  world: Timeline;
  nodes: readonly Node[];
  live: (untilMs: number) => void;
  left: readonly LeftWork[];
  isFailed: () => boolean;
}): Promise<number | null> => {
  const { world, nodes, live } = of;
  const remaining = async () => (await Promise.all(of.left.map((work) => work()))).filter((ms) => ms !== null);
  for (let pauses = 0; pauses <= MAX_PAUSES; pauses += 1) {
    const waits = await remaining();
    if (waits.length === 0 || of.isFailed()) return pauses;
    const ms = Math.max(...waits);
    if (ms > 0) {
      for (const node of nodes) node.pause(ms + MARGIN_MS);
      live(world.nowMs() + ms + MARGIN_MS);
    }
    for (const endMs = world.nowMs() + AWAKE_MS; world.nowMs() < endMs && !of.isFailed(); ) {
      live(world.nowMs() + CHECK_MS);
      if ((await remaining()).length === 0) return pauses + 1;
    }
  }
  return null;
};
