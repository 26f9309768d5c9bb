// Coverage counters: the situations that simulated worlds must reach.
//
// A situation that never occurs in many worlds is a fault of the simulation.

/** Name → description. */
export const SITUATIONS = {
  parked: "a generation was parked, because the store refused its charge",
  decidedSettle: "an operator's settlement is in the journal",
  decidedFail: "an operator's end is in the journal",
  decidedRetry: "an operator's retry is in the journal",
  decisionsRefused: "the admin refused what an operator wanted",
  decisionsLeft: "a node left a decision for the node that owns the generation",
  decisionsOvertaken: "something else happened to a generation between the decision and its step",
  decisionsUnanswered: "a process ended before it answered an operator",
  settledCharged: "a settled generation was charged for the attempt that an operator named",
  settledElsewhere: "a settled generation ended in another way",
  failedDelivered: "what an operator had failed was delivered all the same",
  parkedInPeace: "an operator ended in peace what was parked",
  instantResults: "a provider gave the result in its answer",
  instantHeld: "such a result waited for the place of files",
  answersWhileAway: "a provider answered while the store was away",
  answersOnDisk: "an answer was kept on the node's own disk",
  answersRefused: "the node's own disk refused an answer",
  answersTakenUp: "an answer that a former process had kept was taken up",
  answersPassedOn: "such an answer was left for the node that goes on with its generation",
  storeAway1: "the store was away for 1 s",
  storeAway12: "the store was away for 12 s",
  storeAway60: "the store was away for 60 s",
  storeAway600: "the store was away for 600 s",
  bucketAway: "the place of files refused everything for a while",
  brownOut: "a provider answered 502 to everything for ten minutes",
  confirmBounded: "a provider that answered no question was asked until confirm_s was over",
} as const;
export type Situation = keyof typeof SITUATIONS;

export type CoverageCounters = {
  count(situation: Situation): void;
  figures(): Record<Situation, number>;
};

export const createCoverageCounters = (): CoverageCounters => {
  const counts = Object.fromEntries(Object.keys(SITUATIONS).map((name) => [name, 0])) as Record<Situation, number>;
  return {
    count: (situation) => {
      counts[situation] += 1;
    },
    figures: () => counts,
  };
};

/** Situations that never occurred; after many seeds there should be none. */
export const unseen = (figures: Readonly<Record<string, number>>): string[] =>
  Object.entries(SITUATIONS).flatMap(([name, means]) => (figures[name] ? [] : [`${name}: ${means}`]));
