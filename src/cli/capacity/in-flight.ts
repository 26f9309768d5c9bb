// Computes the number of running generations and provider polls by Little's law.
//
// Quantiles account for random arrivals.

/**
 * Standard deviation of the logarithm of run times. The slowest tenth of all runs takes more than twice as long as the fastest
 * tenth.
 */
export const RUN_SPREAD = 0.5;
/** First and longest interval between polls of a provider, s, and its growth factor (src/effects/deps.ts, src/providers). */
const [FIRST_POLL_S, LONGEST_POLL_S, GROWS] = [2, 5, 1.5];

/** Number of polls until a run of `runS` seconds is found completed, and the delay of the last one, s. */
const pollsOf = (runS: number): { polls: number; lateS: number } => {
  let atS = FIRST_POLL_S;
  let pauseS = FIRST_POLL_S;
  let polls = 1;
  while (atS < runS && pauseS < LONGEST_POLL_S) {
    pauseS = Math.min(LONGEST_POLL_S, pauseS * GROWS);
    atS += pauseS;
    polls += 1;
  }
  if (atS >= runS) return { polls, lateS: atS - runS };
  // From here on the run ends at a random time between two polls, because intervals are jittered.
  return { polls: polls + (runS - atS) / LONGEST_POLL_S + 0.5, lateS: LONGEST_POLL_S / 2 };
};

export type Run = { polls: number; lateS: number };
const WIDTH = 5;
const PARTS = 400;

/** Mean over the distribution of run times whose mean is `meanS`. */
export const runsOf = (meanS: number): Run => {
  const middle = Math.log(meanS) - RUN_SPREAD ** 2 / 2;
  let [weight, polls, lateS] = [0, 0, 0];
  for (let part = 0; part <= PARTS; part += 1) {
    const z = -WIDTH + (2 * WIDTH * part) / PARTS;
    const share = Math.exp((-z * z) / 2);
    const run = pollsOf(Math.exp(middle + RUN_SPREAD * z));
    weight += share;
    polls += share * run.polls;
    lateS += share * run.lateS;
  }
  return { polls: polls / weight, lateS: lateS / weight };
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
