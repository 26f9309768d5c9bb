// How many generations run at a time, and how often each is looked at: Little's law, and what chance adds to it.

/** Run times vary: their logarithm does so by this much. A tenth of all runs takes more than twice as long as the tenth that is fastest … slowest. */
export const RUN_SPREAD = 0.5;
/** First and longest pause between looks at a provider, s, and how a pause grows (src/effects/deps.ts, src/providers). */
const [FIRST_LOOK_S, LONGEST_LOOK_S, GROWS] = [2, 5, 1.5];

/** Looks that find a run of so many seconds done, and how long it has been over by then, s. */
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
  // From here on a run ends anywhere between two looks: pauses are spread by chance.
  return { looks: looks + (runS - atS) / LONGEST_LOOK_S + 0.5, lateS: LONGEST_LOOK_S / 2 };
};

export type Run = { looks: number; lateS: number };
const WIDTH = 5;
const PARTS = 400;

/** The mean over runs of all lengths, whose own mean is `meanS`. */
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
/** So many standard deviations above the mean lies the number that is not exceeded in 999 of 1000 moments. */
const Z_999 = 3.09;

/** The number at a time that is not exceeded in 999 of 1000 moments, where so many are there on average and come at random. */
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
