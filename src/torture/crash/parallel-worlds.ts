// Runs random crashes in several parallel worlds.
//
// A world mostly waits, so two use the machine better than one.
import { join } from "node:path";
import { type End, mergeEnds } from "./merge-reports.ts";
import { killAll } from "./processes.ts";
import { type Far, type RandomPlan, runRandom, WorldBroken } from "./random.ts";

export type LanesPlan = Omit<RandomPlan, "workers"> & {
  lanes: number;
  /** Of each world's client; default from its seed. */
  workers?: number;
};

const FEWEST_WORKERS = 16;
const MAX_WORKERS = 32;
/** The first lane uses the seed itself, so that a seed alone reproduces a world. */
const LANE_SEEDS = 100_003;

/** A world that cannot continue is a finding like any other. */
const runLane = (plan: RandomPlan): Promise<End> =>
  runRandom(plan).catch((fault: unknown) => {
    plan.report(`kept for a look: ${plan.dir}`);
    const { message, cause, figures } = fault instanceof WorldBroken ? fault : new WorldBroken(fault, {});
    if (cause instanceof Error && cause.stack) plan.report(cause.stack);
    return { checks: [{ name: "the world completes without an error", faults: [message] }], figures };
  });

/** Splits the cycles among the lanes and merges their checks. */
export const runLanes = async ({ lanes, ...plan }: LanesPlan): Promise<End> => {
  const isOne = lanes === 1;
  const far: Far[] = Array<Far>(lanes).fill({ kills: 0, submissions: 0 });
  const ends = await Promise.all(
    Array.from({ length: lanes }, (_, lane) => {
      const seed = plan.seed + lane * LANE_SEEDS;
      return runLane({
        ...plan,
        seed,
        dir: join(plan.dir, `lane-${lane + 1}`),
        cycles: Math.floor((plan.cycles + lane) / lanes),
        workers: plan.workers ?? FEWEST_WORKERS + (seed % (MAX_WORKERS - FEWEST_WORKERS + 1)),
        report: (line) => plan.report(isOne ? line : `world ${lane + 1}, ${line}`),
        onCycle: (one) => {
          far[lane] = one;
          const sumOf = (name: keyof Far) => far.reduce((sum, each) => sum + each[name], 0);
          plan.onCycle?.({ kills: sumOf("kills"), submissions: sumOf("submissions") });
        },
      });
    }),
  );
  killAll();
  return mergeEnds(ends);
};
