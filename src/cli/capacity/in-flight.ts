// Computes the number of running generations and provider polls by Little's law.
//
// Quantiles account for random arrivals.

/**
 * Standard deviation of the logarithm of run times. The slowest tenth of all runs takes more than twice as long as the fastest
 * tenth.
 */
export const RUN_SPREAD = 0.5;
/** First and longest interval between polls of a provider, s, and its growth factor (src/effects/deps.ts, src/providers). */
const [FIRST_LOOK_S, LONGEST_LOOK_S, GROWS] = [2, 5, 1.5];

/** Number of polls until a run of `runS` seconds is found completed, and the delay of the last one, s. */
const looksAt = (runS: number): { looks: number; lateS: number } => {
  let atS = FIRST_LOOK_S;
  let pauseS = FIRST_LOOK_S;
  let looks = 1;
  while (atS < runS && pauseS < LONGEST_LOOK_S) {
    pauseS = Math.min(LONGEST_LOOK_S, pauseS * GROWS);
    atS += pauseS;
    looks += 1;
  }
  if (atS >= runS) return { looks, lateS: atS - runS };
  // From here on the run ends at a random time between two polls, because intervals are jittered.
  return { looks: looks + (runS - atS) / LONGEST_LOOK_S + 0.5, lateS: LONGEST_LOOK_S / 2 };
};

export type Run = { looks: number; lateS: number };
const WIDTH = 5;
const PARTS = 400;

/** Mean over the distribution of run times whose mean is `meanS`. */
export const runsOf = (meanS: number): Run => {
  const middle = Math.log(meanS) - RUN_SPREAD ** 2 / 2;
  let [weight, looks, lateS] = [0, 0, 0];
  for (let part = 0; part <= PARTS; part += 1) {
    const z = -WIDTH + (2 * WIDTH * part) / PARTS;
    const share = Math.exp((-z * z) / 2);
    const run = looksAt(Math.exp(middle + RUN_SPREAD * z));
    weight += share;
    looks += share * run.looks;
    lateS += share * run.lateS;
  }
  return { looks: looks / weight, lateS: lateS / weight };
};

const EXACT_UP_TO = 500;
/** Number of standard deviations above the mean that is not exceeded at 999 of 1000 times. */
const Z_999 = 3.09;

/** Number of concurrent runs that is not exceeded at 999 of 1000 times, for random arrivals and the given mean. */
export const seldomMore = (mean: number): number => {
  if (mean > EXACT_UP_TO) return Math.ceil(mean + Z_999 * Math.sqrt(mean) + 1);
  let chance = Math.exp(-mean);
  let sum = chance;
  let count = 0;
  while (sum < 0.999 && count < 10 * EXACT_UP_TO) {
    count += 1;
    chance *= mean / count;
    sum += chance;
  }
  return Math.max(1, count);
};
