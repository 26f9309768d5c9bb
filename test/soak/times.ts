// Draws the run times of a soak's jobs from a log-normal with a long tail, and the remaining times of running jobs.
import { chance } from "../../src/simulator/fault-script.ts";

/** The longest run time: an attempt ends at 40 minutes, and a job near that limit would end at random. */
const LONGEST_S = 2_300;
const MEDIAN_S = 20;
const DRAWN = 20_000;

export type RunTimes = {
  medianS: number;
  sigma: number;
  meanS: number;
  /** The run time of a new job, s. */
  fresh(): number;
  /** The remaining time of a job that runs at a random moment: long jobs are more likely. */
  caught(): number;
};

/** Run times with the mean `meanS`, so that a steady rate keeps `rate × meanS` in flight; the median is 20 s if possible. */
export const openRunTimes = (meanS: number, seed: number): RunTimes => {
  const roll = chance(seed);
  const medianS = Math.min(MEDIAN_S, meanS / 2);
  // Box and Muller; 1 - roll() is never 0.
  const normals = Array.from({ length: DRAWN }, () => Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll()));
  const drawn = (sigma: number) => normals.map((z) => Math.min(LONGEST_S, medianS * Math.exp(sigma * z)));
  const meanOf = (times: readonly number[]) => times.reduce((sum, time) => sum + time, 0) / times.length;
  // The tail is truncated, so the spread for a mean has no closed form.
  let [low, high] = [0, 4];
  for (let turn = 0; turn < 40; turn += 1) {
    const middle = (low + high) / 2;
    if (meanOf(drawn(middle)) < meanS) low = middle;
    else high = middle;
  }
  const times = drawn(low).sort((a, b) => a - b);
  const upTo: number[] = [];
  let total = 0;
  for (const time of times) {
    total += time;
    upTo.push(total);
  }
  const at = (index: number) => times[Math.min(times.length - 1, index)] ?? medianS;
  return {
    medianS,
    sigma: low,
    meanS: meanOf(times),
    fresh: () => at(Math.floor(roll() * times.length)),
    caught: () => {
      const point = roll() * total;
      let [from, to] = [0, upTo.length - 1];
      while (from < to) {
        const middle = (from + to) >> 1;
        if ((upTo[middle] ?? 0) < point) from = middle + 1;
        else to = middle;
      }
      return at(from) * roll();
    },
  };
};

/** The value below which a share of all values lie; 0 for no values. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
};
