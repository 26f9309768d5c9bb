// The faults of a simulated world: each seed draws which of them it knows and how often they happen; some seeds know none.
import type { Rng } from "./rng.ts";

/** Name → what it means, and the highest probability per occasion that a seed may draw. */
export const FAULTS = {
  crash: { most: 0.06, means: "the process ends at an await or between two commits, per crossing" },
  bootCrash: { most: 0.1, means: "the process ends while it recovers, per crossing" },
  drain: { most: 0.5, means: "the process drains before it ends, per end" },
  slowCommit: { most: 0.05, means: "a commit takes seconds" },
  diskFull: { most: 0.5, means: "the disk is full for a while, per minute" },
  unknownCommit: { most: 0.01, means: "a commit fails and may or may not have been written" },
  slowRead: { most: 0.2, means: "a read takes long, so that reads finish in another order" },
  refusedConnection: { most: 0.1, means: "nothing listens at the provider" },
  lostRequest: { most: 0.1, means: "a submission never arrives, and its sender times out" },
  lateRequest: { most: 0.1, means: "a submission arrives long after its sender gave up" },
  lostAnswer: { most: 0.25, means: "a submission is accepted, and the response is lost" },
  badAnswer: { most: 0.1, means: "a submission is accepted, and the response is unreadable" },
  outage: { most: 0.3, means: "a provider rejects every request for minutes, per minute" },
  wrongJob: { most: 0.1, means: "the response to a submission names the job of another attempt" },
  rateLimited: { most: 0.2, means: "the provider returns 429 before it reads the submission" },
  refused: { most: 0.15, means: "the provider refuses the input" },
  brokenRoute: { most: 0.2, means: "the provider rejects a submission for a reason of its own, such as its balance" },
  jobFails: { most: 0.3, means: "an accepted job fails" },
  jobHangs: { most: 0.1, means: "an accepted job never ends" },
  slowJob: { most: 0.2, means: "an accepted job takes longer than its route may" },
  unclearPoll: { most: 0.3, means: "a gateway responds to a poll instead of the provider" },
  deadPolls: { most: 0.3, means: "polls fail for minutes, per job" },
  stalePoll: { most: 0.2, means: "a poll of a finished job still returns running" },
  forgottenPoll: { most: 0.1, means: "the provider does not know the job for a moment" },
  forgottenJob: { most: 0.03, means: "the provider loses the job for good" },
  unclearFind: { most: 0.3, means: "a job lookup gets no response" },
  lateList: { most: 0.5, means: "a job appears in the provider's list only after a while" },
  badFile: { most: 0.2, means: "a result cannot be read at this try" },
  lostFile: { most: 0.05, means: "a result can never be read" },
  expiredFile: { most: 0.1, means: "a result's link expires before it is fetched" },
  mismatch: { most: 0.3, means: "the result differs from the order, per job" },
  storageRefuses: { most: 0.1, means: "the disk for result files returns an error" },
  clockJump: { most: 0.5, means: "the wall clock jumps, per ten minutes" },
  reload: { most: 0.5, means: "the catalogue is replaced, per ten minutes" },
  sameInput: { most: 0.5, means: "two submissions have the same input, so that a list cannot distinguish them" },
  // Of worlds with several nodes.
  partition: { most: 0.4, means: "a node cannot reach the store it shares, only providers and clients, per node and minute" },
  deafLease: { most: 0.4, means: "a node cannot renew its lease and reaches everything else, per node and minute" },
  zombie: { most: 0.5, means: "a process is suspended past its lease and continues with its old state, per node and minute" },
  zombieStep: { most: 0.02, means: "the same between two steps of its work, per crossing" },
  clockSkew: { most: 1, means: "a node's clock is off by minutes and runs a little fast or slow, per life" },
  slowTransaction: { most: 0.05, means: "a transaction of the shared store takes until its time limit, or is aborted" },
  lostCommit: { most: 0.05, means: "the connection is lost during COMMIT, so the outcome must be read" },
  rollingRestart: { most: 0.5, means: "all nodes are drained and started again, one after the other, per ten minutes" },
  // Of clips that clients link to; last, so that what is drawn for the others stays.
  changedClip: { most: 0.5, means: "a client's clip changes between measurement and fetch, per clip" },
  stuckClip: { most: 0.2, means: "a client's clip is never received, per clip" },
  missingClip: { most: 0.3, means: "a client's clip cannot be fetched at this try" },
  lostCopy: { most: 0.2, means: "the stored copy of a clip is missing when a provider needs it" },
  // Of operators, and of what a node needs besides providers; after all others for the same reason.
  decision: { most: 0.6, means: "an operator settles, fails or retries a generation, whatever it is doing, per half minute" },
  refusedCapture: { most: 0.3, means: "the store refuses a charge, which parks its generation, per charge" },
  instantResult: { most: 3, means: "the provider without polls returns the result in its response, per submission" },
  brownOut: { most: 0.1, means: "a provider returns 502 for ten minutes, whatever it does, per minute" },
  bucketOutage: { most: 0.3, means: "the storage of result files fails for a while, per minute" },
  storeOutage: { most: 0.3, means: "no node reaches the shared store for 1, 12, 60 or 600 s, per minute" },
  cancel: { most: 0.5, means: "a client cancels its generation at some moment, per accepted request" },
  spoolFull: { most: 0.3, means: "a node's own disk stores no responses for a while, per node and minute" },
  erase: { most: 0.5, means: "a client deletes its generation, mostly after its end, per accepted request" },
  // Of receivers of webhooks, and of accounts that use them.
  brokenReceiver: { most: 0.5, means: "a receiver of webhooks responds with an error, or not at all, per try" },
  absentReceiver: { most: 0.3, means: "a receiver of webhooks does not respond for minutes or hours, per minute" },
  goneReceiver: { most: 0.1, means: "a receiver of webhooks returns 410, per try" },
  changedEndpoint: { most: 0.2, means: "an account disables, enables or deletes a webhook endpoint, per minute" },
  rotatedSecret: { most: 0.2, means: "an account rotates a webhook secret, per minute" },
  // Of uploads.
  brokenUpload: { most: 0.3, means: "the connection breaks in the middle of an upload, per upload" },
  removedFile: { most: 0.8, means: "a client deletes an uploaded file, also while a generation needs it, per file and use" },
} as const;
export type FaultName = keyof typeof FAULTS;
export type Faults = Readonly<Record<FaultName, number>>;

export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];
/** Shares of the seeds in which nothing is wrong, and of the faults that another seed knows. */
const QUIET_SEEDS = 0.04;

/** Draws the faults of a seed. `without`: faults that do not happen, whatever was drawn. */
export const drawFaults = (dice: Rng, without: ReadonlySet<FaultName>): Faults => {
  const isQuiet = dice.chance(QUIET_SEEDS);
  const share = dice.between(0.1, 0.7);
  const drawn = FAULT_NAMES.map((name): [FaultName, number] => {
    const isKnown = dice.chance(share);
    const probability = FAULTS[name].most * dice.roll();
    return [name, isKnown && !isQuiet && !without.has(name) ? probability : 0];
  });
  return Object.fromEntries(drawn) as Record<FaultName, number>;
};
