// How large commits become by themselves: what arrives while one is written is the next, and the more arrives the more they share.

export type Grouped = {
  /** Mutations in a commit, on average. */
  batch: number;
  /** Commits in a second. */
  perS: number;
  /** The share of time in which one is being written; 1: more arrives than can be written. */
  busy: number;
  /** How long one takes on average, ms. */
  takesMs: number;
};

/** Mutations that one commit holds at most, as the ledger has it (actors/ledger.ts). */
export const MOST_IN_A_COMMIT = 1000;
const STEPS = 400;
const SETTLED = 1e-10;

/** The chances of 0, 1, … `most` arrivals where `mean` are expected; the last stands for itself and all above it. */
const arrivals = (mean: number, most: number): Float64Array => {
  const chances = new Float64Array(most + 1);
  let sum = 0;
  // From logarithms: a chance of no arrival underflows long before the mean is a thousand.
  let logChance = -mean;
  for (let n = 0; n <= most; n += 1) {
    if (n > 0) logChance += Math.log(mean) - Math.log(n);
    const chance = n === most ? Math.max(0, 1 - sum) : Math.exp(logChance);
    chances[n] = chance;
    sum += chance;
  }
  return chances;
};

/**
 * The commits of one writer that mutations reach at random: the chain of batch sizes, each of which is what arrived during the one before it, or
 * the one mutation that ends a rest. @param takesMs how long a commit of so many mutations takes.
 */
export const groupCommits = (mutationsPerS: number, takesMs: (mutations: number) => number): Grouped => {
  const perMs = mutationsPerS / 1000;
  const full = takesMs(MOST_IN_A_COMMIT);
  if (perMs * full >= MOST_IN_A_COMMIT) return { batch: MOST_IN_A_COMMIT, perS: 1000 / full, busy: 1, takesMs: full };
  if (perMs === 0) return { batch: 1, perS: 0, busy: 0, takesMs: takesMs(1) };
  // Where as many arrive as are written, with room above it for chance.
  let even = 1;
  for (let n = 0; n < STEPS; n += 1) even = Math.max(1, perMs * takesMs(even));
  const most = Math.min(MOST_IN_A_COMMIT, Math.ceil(even + 12 * Math.sqrt(even) + 12));
  const after = Array.from({ length: most + 1 }, (_, mutations) => arrivals(perMs * takesMs(mutations), most));
  let sizes = new Float64Array(most + 1);
  sizes[Math.min(most, Math.round(even))] = 1;
  for (let step = 0; step < STEPS; step += 1) {
    const next = new Float64Array(most + 1);
    let moved = 0;
    for (let mutations = 1; mutations <= most; mutations += 1) {
      const share = sizes[mutations] ?? 0;
      if (share < 1e-15) continue;
      for (let came = 0; came <= most; came += 1) {
        const at = Math.max(1, came);
        next[at] = (next[at] ?? 0) + share * (after[mutations]?.[came] ?? 0);
      }
    }
    for (let mutations = 1; mutations <= most; mutations += 1)
      moved += Math.abs((next[mutations] ?? 0) - (sizes[mutations] ?? 0));
    sizes = next;
    if (moved < SETTLED) break;
  }
  let [batch, writing, resting] = [0, 0, 0];
  for (let mutations = 1; mutations <= most; mutations += 1) {
    const share = sizes[mutations] ?? 0;
    batch += share * mutations;
    writing += share * takesMs(mutations);
    resting += (share * (after[mutations]?.[0] ?? 0)) / perMs;
  }
  return { batch, perS: 1000 / (writing + resting), busy: writing / (writing + resting), takesMs: writing };
};
