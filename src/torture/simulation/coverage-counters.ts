// Coverage counters: the situations that simulated worlds must reach.
//
// A situation that never occurs in many worlds is a fault of the simulation.

/** Name → description. */
export const SITUATIONS = {
  parked: "a generation was parked because the store rejected its charge",
  decidedSettle: "the event log records an operator's settle",
  decidedFail: "the event log records an operator's fail",
  decidedRetry: "the event log records an operator's retry",
  decisionsRefused: "an operator's decision was rejected",
  decisionsLeft: "a node stored a decision for the node that owns the generation",
  decisionsOvertaken: "a generation changed between a decision and its step",
  decisionsUnanswered: "a process ended before it responded to an operator",
  settledCharged: "a settled generation was charged for the attempt that an operator named",
  settledElsewhere: "a settled generation ended in another way",
  failedDelivered: "a generation that an operator failed was delivered",
  parkedInPeace: "an operator ended a parked generation after the faults",
  instantResults: "a provider returned the result in its response to the submission",
  instantHeld: "such a result waited for the storage of result files",
  answersDuringOutage: "a provider responded while the store was unavailable",
  answersOnDisk: "a response was stored on the node's own disk",
  answersRefused: "the node's own disk could not store a response",
  answersTakenUp: "a response that an earlier process had stored on disk was processed",
  answersPassedOn: "such a response was left for the node that owns its generation",
  storeOutage1: "the store was unavailable for 1 s",
  storeOutage12: "the store was unavailable for 12 s",
  storeOutage60: "the store was unavailable for 60 s",
  storeOutage600: "the store was unavailable for 600 s",
  bucketOutage: "the storage of result files failed for a while",
  brownOut: "a provider returned 502 for ten minutes",
  cancelledUnsent: "a generation was cancelled before anything was sent",
  cancelledSent: "a cancelled generation ended without a delivery after its request was sent",
  cancelledDelivered: "a generation was delivered and charged after its client had requested the cancellation",
  cancelsRefused: "a cancel request came after the end",
  cancelsRepeated: "a generation was cancelled twice",
  cancelsUnanswered: "a process ended before it responded to a cancel request",
  erased: "a client deleted its generation",
  erasedLate: "a result arrived for an attempt of a deleted generation, before or after the deletion",
  erasuresRefused: "a deletion was rejected, because the generation had not ended",
  endsDelivered: "the end of a generation was delivered to a receiver",
  deliveriesRepeated: "an event was sent more than once",
  deliveredByAnotherProcess: "an event was sent by several processes",
  deliveriesTakenOver: "a node took over deliveries of an ended node",
  deliveriesAfterHours: "a delivery waited for its retry while no node ran",
  receiversGone: "a receiver returned 410",
  receiversSilent: "a receiver broke the connection or did not respond",
  receiversOut: "a receiver did not respond for minutes or hours",
  secretsChanged: "a receiver changed to a rotated secret",
  endpointsDisabled: "an account disabled or deleted an endpoint",
  endpointsEnabled: "an account enabled an endpoint",
  uploadsDeduplicated: "an uploaded file had the bytes of another file",
  uploadsBroken: "the connection broke in the middle of an upload",
  uploadsLeft: "a sweep gave up the reservation of an ended process",
  uploadsOverQuota: "an upload was rejected for the quota of its account",
  uploadsOverLimit: "an upload was rejected for the number of files of its account",
  filesTaken: "a submission named an uploaded file",
  resultsTaken: "a submission named a result file",
  filesInUse: "a deletion was rejected, because a generation needed the file",
  filesDeletedMeanwhile: "a file was deleted while a submission that named it was checked",
  filesRemoved: "a client deleted an uploaded file",
  filesExpired: "an uploaded file expired and was deleted",
  confirmBounded: "a provider without responses was queried until confirm_s had passed",
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
