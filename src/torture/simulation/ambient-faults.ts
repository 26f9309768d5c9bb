// Ambient faults of a simulated world, independent of its nodes' actions.

import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";
import type { Timeline } from "./timeline.ts";

const MINUTE_MS = 60_000;

/** Schedules the occasional faults: a full disk, a wall clock jump, a new catalogue, the drain of a node, outages. */
export const createAmbientFaults = (of: {
  world: Timeline;
  dice: Rng;
  faults: () => Faults;
  fillDisk: (ms: number) => void;
  turnClock: (ms: number) => void;
  reload: () => void;
  retire: () => void;
  goOut: (ms: number) => void;
  brownOut: (ms: number) => void;
  interruptBucket: (ms: number) => void;
}) => {
  const { world, dice, faults } = of;
  const every = (ms: number, look: () => void) => {
    const turn = () => {
      look();
      world.after(ms, turn);
    };
    world.after(ms, turn);
  };
  every(MINUTE_MS, () => {
    // Occasionally longer than any deadline.
    if (dice.chance(faults().diskFull))
      of.fillDisk(dice.chance(0.8) ? dice.between(1_000, 120_000) : dice.between(2, 25) * MINUTE_MS);
    if (dice.chance(faults().outage)) of.goOut(dice.between(0.2, 8) * MINUTE_MS);
  });
  const outages = dice.fork("outages");
  every(MINUTE_MS, () => {
    if (outages.chance(faults().brownOut)) of.brownOut(10 * MINUTE_MS);
    if (outages.chance(faults().bucketOutage)) of.interruptBucket(outages.pick([1, 12, 60, 600]) * 1000);
  });
  every(10 * MINUTE_MS * dice.between(0.2, 1), () => {
    if (dice.chance(faults().clockJump)) of.turnClock(dice.between(-15, 15) * MINUTE_MS);
    if (dice.chance(faults().reload)) of.reload();
    if (dice.chance(faults().drain)) of.retire();
  });
};
