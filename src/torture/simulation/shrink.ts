// Shrinks a failing world: fewer requests, nodes and faults while it still fails.
import { FAULT_NAMES, type FaultName } from "./faults.ts";
import { runSeed, type WorldEnd, type WorldOptions } from "./run.ts";

export type Shrunk = { options: WorldOptions; end: WorldEnd; tries: number };

/** @param most the number of worlds to run. */
export const shrink = async (failure: WorldEnd, options: WorldOptions, most = 120): Promise<Shrunk> => {
  let best: Shrunk = { options, end: failure, tries: 0 };
  let tries = 0;
  const attempt = async (next: WorldOptions): Promise<boolean> => {
    if (tries >= most) return false;
    tries += 1;
    const end = await runSeed(failure.seed, next);
    if (end.faults.length === 0) return false;
    best = { options: next, end, tries };
    return true;
  };
  for (const wishes of [1, 2, 3, 4, 6, 8]) if (await attempt({ ...best.options, wishes })) break;
  for (const nodes of [1, 2]) if (nodes < failure.nodes && (await attempt({ ...best.options, nodes }))) break;
  const without = new Set<FaultName>(options.without);
  for (const name of FAULT_NAMES) {
    if (without.has(name) || failure.drawn[name] === 0) continue;
    without.add(name);
    if (!(await attempt({ ...best.options, without: [...without] }))) without.delete(name);
  }
  return { ...best, tries };
};

/** The command that reproduces a world with its trace. */
export const replayCommand = (seed: number, { wishes, nodes, without }: WorldOptions): string =>
  [
    `npm run simulate -- --seed ${seed} --trace`,
    ...(wishes === undefined ? [] : [`--wishes ${wishes}`]),
    ...(nodes === undefined ? [] : [`--nodes ${nodes}`]),
    ...(without && without.length > 0 ? [`--without ${without.join(",")}`] : []),
  ].join(" ");
