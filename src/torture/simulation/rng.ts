// Random numbers of a simulated world: one seed, and one generator for each part.

export type Rng = {
  /** A number in [0, 1). */
  roll(): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** A number from `from` to `to`. */
  between(from: number, to: number): number;
  /** A whole number from `from` to `to`, both included. */
  whole(from: number, to: number): number;
  pick<T>(among: readonly T[]): T;
  /** A generator for another part; the draws of one part never change those of another. */
  fork(name: string): Rng;
};

const hashOf = (seed: number, name: string): number => {
  let hash = seed ^ 0x9e3779b9;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash >>> 0;
};

/** Mulberry32: small, fast, and the same on every machine. */
export const createRng = (seed: number): Rng => {
  let state = (seed ^ (seed / 2 ** 32)) >>> 0;
  const roll = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const between = (from: number, to: number) => from + roll() * (to - from);
  return {
    roll,
    chance: (probability) => roll() < probability,
    between,
    whole: (from, to) => Math.floor(between(from, to + 1)),
    pick: (among) => among[Math.floor(roll() * among.length)] as (typeof among)[number],
    fork: (name) => createRng(hashOf(seed, name)),
  };
};
