// Runs seeds one after the other, each as a separate world.
import { CROSSINGS, type Crossing } from "./node-life.ts";
import { runWorld, type WorldEnd, type WorldOptions } from "./simulated-world.ts";

export type { WorldEnd, WorldOptions } from "./simulated-world.ts";

/** Runs one seed. The same seed and options give the same world, to the last line of its trace. */
export const runSeed = (seed: number, options: WorldOptions = {}): Promise<WorldEnd> => runWorld(seed, options);

export type SeedsEnd = {
  seeds: number;
  /** The first seed with a finding. */
  failure: WorldEnd | null;
  /** Sums over all seeds. */
  figures: Record<string, number>;
  struck: Map<Crossing, number>;
};

/** Runs seeds from `first` on until one has a finding, `count` are done, or `isOver`. `onReport` is called after each. */
export const runSeeds = async (
  first: number,
  count: number,
  more: { options?: WorldOptions; isOver?: () => boolean; onReport?: (done: number, end: WorldEnd) => void } = {},
): Promise<SeedsEnd> => {
  const end: SeedsEnd = { seeds: 0, failure: null, figures: {}, struck: new Map() };
  while (end.seeds < count && !end.failure && !more.isOver?.()) {
    const world = await runSeed(first + end.seeds, more.options);
    end.seeds += 1;
    for (const [name, figure] of Object.entries(world.figures)) end.figures[name] = (end.figures[name] ?? 0) + figure;
    for (const [crossing, times] of world.struck) end.struck.set(crossing, (end.struck.get(crossing) ?? 0) + times);
    if (world.faults.length > 0) end.failure = world;
    more.onReport?.(end.seeds, world);
    // Yields to the event loop for signals and timers.
    if (end.seeds % 16 === 0) await new Promise((turn) => setImmediate(turn));
  }
  return end;
};

/** Crossings at which no process ended; after many seeds there should be none. */
export const unstruck = (struck: ReadonlyMap<string, number>): Crossing[] =>
  CROSSINGS.filter((crossing) => !struck.get(crossing));
