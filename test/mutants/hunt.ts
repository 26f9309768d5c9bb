// One hunt: a killer of its own process runs until it finds something, or until its time is over.

import { PLANT } from "./apply-patch.ts";
import { isSimulated, type Killer, ROOT } from "./mutant.ts";

const LONGEST_MS = 60_000;
/** As many as fit into the time and more: the hunt ends at the first finding. */
const MANY = "1000000";

export type Hunt = { found: boolean; runs: number; ms: number; said: string };

/** Of each kind of wrong delivery a few, and of each kind of right one. */
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
 * Lets a killer loose on a mutant, or on the product as it is when `mutant` is null.
 * @param count runs or seeds; null for as many as the time allows.
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
    // Found is found: nobody waits for it to be made smaller.
    if (finding !== null && mutant !== null) child.kill("SIGKILL");
  }
  const code = await child.exited;
  clearTimeout(timer);
  const ms = performance.now() - beganMono;
  const ended = /^(\d+) passed, (\d+) failed$/m.exec(said);
  if (finding !== null) return { found: true, runs: runsUntil(finding, seed), ms, said };
  // Only a hunt without a count may end because its time is over.
  const isOutOfTime = child.signalCode !== null && count === null;
  if (!isOutOfTime && (ended === null || code !== 0))
    throw new Error(`${killer} broke down with ${child.signalCode ?? code}: ${said.slice(-2000)}${(await stderr).slice(-2000)}`);
  return { found: false, runs: Number(ended?.[1] ?? 0), ms, said };
};
