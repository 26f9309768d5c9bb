// Runs one hunt: a killer in a separate process, until it finds a fault or its time is over.

import { PLANT } from "./apply-patch.ts";
import { isSimulated, type Killer, ROOT } from "./mutant.ts";

const LONGEST_MS = 60_000;
/** More runs than fit into the time: the hunt ends at the first finding. */
const MANY = "1000000";

export type Hunt = { found: boolean; runs: number; ms: number; said: string };

/** A few deliveries of each wrong and each correct kind. */
const deliveriesOf = (seed: number, count: string): string[] => {
  const wrong = Math.min(Number(count), 60);
  return ["test/deliveries/main.ts", "--wrong", String(wrong), "--right", String(2 * wrong), "--seed", String(seed), "--first"];
};

const programOf = (killer: Killer, seed: number, count: string): string[] => {
  if (killer === "deliveries") return deliveriesOf(seed, count);
  return isSimulated(killer)
    ? [
        ...["src/torture/simulation/main.ts", "--seed", String(seed), "--seeds", count, "--cores", "1"],
        ...(killer === "nodes" ? ["--nodes", "3"] : []),
      ]
    : ["test/properties/main.ts", "--only", killer, "--seed", String(seed), "--runs", count, "--jobs", "1"];
};

/** Runs or seeds until the finding, from its line: `(fail) seed 12` or `(fail) ledger: … (5 runs, 7/s)`. */
const runsUntil = (line: string, seed: number): number => {
  const simulated = /^\(fail\) seed (\d+)/.exec(line)?.[1];
  return simulated === undefined ? Number(/\((\d+) runs/.exec(line)?.[1] ?? 0) : Number(simulated) - seed + 1;
};

/**
 * Runs a killer on a mutant, or on the unchanged product if `mutant` is null.
 * @param count the number of runs or seeds; null for as many as the time allows.
 */
export const hunt = async (killer: Killer, mutant: string | null, seed: number, count: number | null): Promise<Hunt> => {
  const beganMono = performance.now();
  const preload = mutant === null ? [] : ["--preload", PLANT];
  const child = Bun.spawn([process.execPath, ...preload, ...programOf(killer, seed, count === null ? MANY : String(count))], {
    cwd: ROOT,
    env: mutant === null ? process.env : { ...process.env, MUTANT: mutant },
    stdout: "pipe",
    stderr: "pipe",
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), count === null ? LONGEST_MS : 5 * LONGEST_MS);
  const stderr = new Response(child.stderr).text();
  let said = "";
  let finding: string | null = null;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    said += decoder.decode(chunk, { stream: true });
    finding ??= /^\(fail\) .*$/m.exec(said)?.[0] ?? null;
    // The finding is enough: the hunt does not wait for it to shrink.
    if (finding !== null && mutant !== null) child.kill("SIGKILL");
  }
  const code = await child.exited;
  clearTimeout(timer);
  const ms = performance.now() - beganMono;
  const ended = /^(\d+) passed, (\d+) failed$/m.exec(said);
  if (finding !== null) return { found: true, runs: runsUntil(finding, seed), ms, said };
  // Only a hunt without a count may end by its time limit.
  const isOutOfTime = child.signalCode !== null && count === null;
  if (!isOutOfTime && (ended === null || code !== 0))
    throw new Error(`${killer} crashed with ${child.signalCode ?? code}: ${said.slice(-2000)}${(await stderr).slice(-2000)}`);
  return { found: false, runs: Number(ended?.[1] ?? 0), ms, said };
};
