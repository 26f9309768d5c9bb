// Runs seeds: one after the other, each a world of its own; what torture, the program and the tests call.
import { CROSSINGS, type Crossing } from "./node-life.ts";
import { runWorld, type WorldEnd, type WorldOptions } from "./simulated-world.ts";

export type { WorldEnd, WorldOptions } from "./simulated-world.ts";

/** One seed. The same seed and options make the same world, to the last line of its trace. */
export const runSeed = (seed: number, options: WorldOptions = {}): Promise<WorldEnd> => runWorld(seed, options);

export type SeedsEnd = {
  seeds: number;
  /** The first seed that found something. */
  failure: WorldEnd | null;
  /** Sums over all seeds. */
  figures: Record<string, number>;
  struck: Map<Crossing, number>;
};

/** Runs seeds from `first` on until one finds something, `count` are done, or `isOver`. `told` hears of each. */
export const runSeeds = async (
  first: number,
  count: number,
  more: { options?: WorldOptions; isOver?: () => boolean; told?: (done: number, end: WorldEnd) => void } = {},
): Promise<SeedsEnd> => {
  const end: SeedsEnd = { seeds: 0, failure: null, figures: {}, struck: new Map() };
  while (end.seeds < count && !end.failure && !more.isOver?.()) {
    const world = await runSeed(first + end.seeds, more.options);
    end.seeds += 1;
    for (const [name, figure] of Object.entries(world.figures)) end.figures[name] = (end.figures[name] ?? 0) + figure;
    for (const [crossing, times] of world.struck) end.struck.set(crossing, (end.struck.get(crossing) ?? 0) + times);
    if (world.faults.length > 0) end.failure = world;
    more.told?.(end.seeds, world);
    // Whoever waits for a signal or a timer has its turn.
    if (end.seeds % 16 === 0) await new Promise((turn) => setImmediate(turn));
  }
  return end;
};

/** Places at which no process ended: after many seeds there should be none. */
export const unstruck = (struck: ReadonlyMap<string, number>): Crossing[] =>
  CROSSINGS.filter((crossing) => !struck.get(crossing));
