// Models group commit: the average size and rate of commits for random arrivals.
//
// Mutations that arrive during a commit form the next one, so commits grow with the rate.

export type Grouped = {
  /** Average number of mutations in a commit. */
  batch: number;
  /** Commits per second. */
  perS: number;
  /** Fraction of time in which a commit is being written; 1 if mutations arrive faster than they can be written. */
  busy: number;
  /** Average duration of a commit, ms. */
  takesMs: number;
};

/** Maximum number of mutations in one commit, as in actors/ledger.ts. */
export const MAX_IN_A_COMMIT = 1000;
const STEPS = 400;
const SETTLED = 1e-10;

/** Poisson probabilities of 0, 1, … `most` arrivals for the expected number `mean`; the last one includes all higher numbers. */
const arrivals = (mean: number, most: number): Float64Array => {
  const chances = new Float64Array(most + 1);
  let sum = 0;
  // Computed with logarithms, because the probability of no arrival underflows long before the mean is a thousand.
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
 * Average commit of one writer with random arrivals. The sizes form a Markov chain: each batch contains the arrivals during the
 * previous one, or the single mutation that ends an idle period. @param takesMs duration of a commit with this many mutations.
 */
export const groupCommits = (mutationsPerS: number, takesMs: (mutations: number) => number): Grouped => {
  const perMs = mutationsPerS / 1000;
  const full = takesMs(MAX_IN_A_COMMIT);
  if (perMs * full >= MAX_IN_A_COMMIT) return { batch: MAX_IN_A_COMMIT, perS: 1000 / full, busy: 1, takesMs: full };
  if (perMs === 0) return { batch: 1, perS: 0, busy: 0, takesMs: takesMs(1) };
  // The size at which arrivals equal writes, with a margin for random variation.
  let even = 1;
  for (let n = 0; n < STEPS; n += 1) even = Math.max(1, perMs * takesMs(even));
  const most = Math.min(MAX_IN_A_COMMIT, Math.ceil(even + 12 * Math.sqrt(even) + 12));
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
