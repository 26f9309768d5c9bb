// The actual state of simulated providers: arrivals and jobs, as evidence of the audit.
import type { FailureClass, Json, MediaKind } from "../../domain/types.ts";
import { drawWrong, type Wrong } from "./deliveries.ts";
import type { Faults } from "./faults.ts";
import { LATEST_LISTING_MS, PROVIDERS } from "./market.ts";
import type { Rng } from "./rng.ts";

/** A job that a provider accepted, whether or not a response arrived. */
export type UpstreamJob = {
  provider: string;
  jobId: string;
  ref: string;
  /** Its input as canonical text, which a list shows. */
  input: string;
  /** When a request for it was first sent to the provider. */
  sentAtMs: number;
  /** When that request was composed, with the link to its clip. */
  composedAtMs: number;
  takenAtMs: number;
  /** When it appears on the provider's list. */
  listedAtMs: number;
  /** When it ends; infinite if it never does. */
  endsAtMs: number;
  fails: FailureClass | null;
  forgottenAtMs: number;
  /** Polls of the job receive no response between these times. */
  deafFromMs: number;
  deafUntilMs: number;
  cancelled: boolean;
  /**
   * Consecutive "no such job" responses: their number and start, and whether they were ever frequent and long enough to count.
   */
  gone: { times: number; sinceMs: number; isBelievable: boolean };
  /** When it was last reported as done; minus infinity if never. */
  announcedAtMs: number;
  /** Its file can never be read. */
  fileIsLost: boolean;
  kind: MediaKind;
  /** The mismatch of its result; null if it matches the order. */
  wrong: Wrong | null;
  /** The length of its clip; null without one, undefined if the clip could not be opened. */
  givenMs: number | null | undefined;
  /**
   * The submission's response contains the result and arrives after this time; null: the response is immediate and names the job.
   */
  answersAfterMs: number | null;
};
type Submission = { provider: string; ref: string; input: Json; kind: MediaKind; clip: string | null; isQuestion: boolean };
/** The outcome of a submission's arrival. */
export type Arrival = {
  provider: string;
  ref: string;
  atMs: number;
  /** A repetition with the same key, for confirmation, not the first submission. */
  isQuestion: boolean;
  verdict: "accepted" | "again" | "rateLimited" | "refused" | "broken";
  job: UpstreamJob | null;
};

export type Upstream = {
  /** The request of an attempt was composed. */
  composed(ref: string): void;
  /** A submission is sent to a provider; it may never arrive. */
  sent(ref: string): void;
  /** A submission arrives. A known idempotency key returns the same job. */
  arrive(submission: Submission): Arrival;
  job(provider: string, jobId: string): UpstreamJob | undefined;
  byRef(provider: string, ref: string): UpstreamJob | undefined;
  listed(provider: string): UpstreamJob[];
  /** The provider refuses every request for a while. */
  goOut(provider: string, ms: number): void;
  isOut(provider: string): boolean;
  /** The provider keeps working, but its gateway responds to every request with an error for a while. */
  brownOut(provider: string, ms: number): void;
  isBrownedOut(provider: string): boolean;
  arrivals: readonly Arrival[];
  jobs: readonly UpstreamJob[];
};

const JOB_FAILURES: readonly FailureClass[] = ["job_failed", "refused_output", "overloaded", "refused_input"];

type Made = Omit<Submission, "input" | "isQuestion"> & { input: string };

export const createUpstream = (deps: {
  nowMs: () => number;
  dice: Rng;
  faults: () => Faults;
  arrived: (arrival: Arrival) => void;
  /** The length of the clip behind a link. */
  openedMs: (link: string) => number | undefined;
}): Upstream => {
  const { nowMs, dice } = deps;
  const arrivals: Arrival[] = [];
  const jobs: UpstreamJob[] = [];
  const byId = new Map<string, UpstreamJob>();
  const sentAtMs = new Map<string, number>();
  const composedAtMs = new Map<string, number>();

  /** Synchronous results have a separate generator. */
  const instant = dice.fork("instant");
  const outUntilMs = new Map<string, number>();
  const brownUntilMs = new Map<string, number>();
  const isOut = (provider: string) => nowMs() < (outUntilMs.get(provider) ?? 0);

  const take = ({ provider, ref, input, kind, clip }: Made): UpstreamJob => {
    const faults = deps.faults();
    const atMs = nowMs();
    const runMs = dice.chance(faults.slowJob) ? dice.between(60_000, 2_600_000) : dice.between(1_000, 60_000) * dice.roll() + 500;
    const isDeaf = dice.chance(faults.deadPolls);
    const deafFromMs = atMs + (isDeaf ? dice.between(0, runMs) : 0);
    const givenMs = clip === null ? null : deps.openedMs(clip);
    const isInstant = PROVIDERS[provider]?.recovery === "none" && instant.chance(faults.instantResult) && givenMs !== undefined;
    const job: UpstreamJob = {
      provider,
      jobId: `${provider}-${jobs.length + 1}`,
      ref,
      input,
      sentAtMs: sentAtMs.get(ref) ?? atMs,
      composedAtMs: composedAtMs.get(ref) ?? atMs,
      takenAtMs: atMs,
      listedAtMs: atMs + (dice.chance(faults.lateList) ? dice.between(0, LATEST_LISTING_MS) : 0),
      endsAtMs: dice.chance(faults.jobHangs) ? Number.POSITIVE_INFINITY : atMs + runMs,
      // Without its clip the job fails.
      fails: givenMs === undefined ? "job_failed" : dice.chance(faults.jobFails) ? dice.pick(JOB_FAILURES) : null,
      forgottenAtMs: dice.chance(faults.forgottenJob) ? atMs + dice.between(0, 2 * runMs) : Number.POSITIVE_INFINITY,
      deafFromMs,
      deafUntilMs: isDeaf ? deafFromMs + dice.between(10_000, 600_000) : deafFromMs,
      cancelled: false,
      announcedAtMs: Number.NEGATIVE_INFINITY,
      gone: { times: 0, sinceMs: 0, isBelievable: false },
      fileIsLost: dice.chance(faults.lostFile),
      kind,
      wrong: dice.chance(faults.mismatch) ? drawWrong(dice, kind) : null,
      givenMs,
      answersAfterMs: isInstant ? instant.between(200, 20_000) : null,
    };
    // A synchronous response contains the whole result, so no job can be polled.
    if (isInstant) Object.assign(job, { endsAtMs: atMs, fails: null, forgottenAtMs: atMs, deafFromMs: atMs, deafUntilMs: atMs });
    jobs.push(job);
    byId.set(`${provider} ${job.jobId}`, job);
    return job;
  };

  const judge = (made: Made): Pick<Arrival, "verdict" | "job"> => {
    const { provider, ref } = made;
    const faults = deps.faults();
    // The rate limit precedes all other checks, including that of idempotency keys.
    if (isOut(provider) || dice.chance(faults.rateLimited)) return { verdict: "rateLimited", job: null };
    const known = jobs.find((job) => job.provider === provider && job.ref === ref);
    if (known && PROVIDERS[provider]?.recovery === "key") return { verdict: "again", job: known };
    if (dice.chance(faults.refused)) return { verdict: "refused", job: null };
    if (dice.chance(faults.brokenRoute)) return { verdict: "broken", job: null };
    return { verdict: "accepted", job: take(made) };
  };

  return {
    composed: (ref) => void composedAtMs.set(ref, nowMs()),
    sent: (ref) => void sentAtMs.set(ref, sentAtMs.get(ref) ?? nowMs()),
    arrive: ({ provider, ref, input, kind, clip, isQuestion }) => {
      const verdict = judge({ provider, ref, kind, clip, input: JSON.stringify(input) });
      const arrival: Arrival = { provider, ref, atMs: nowMs(), isQuestion, ...verdict };
      arrivals.push(arrival);
      deps.arrived(arrival);
      return arrival;
    },
    job: (provider, jobId) => byId.get(`${provider} ${jobId}`),
    byRef: (provider, ref) => jobs.find((job) => job.provider === provider && job.ref === ref),
    listed: (provider) => jobs.filter((job) => job.provider === provider && job.listedAtMs <= nowMs()),
    goOut: (provider, ms) => void outUntilMs.set(provider, nowMs() + ms),
    isOut,
    brownOut: (provider, ms) => void brownUntilMs.set(provider, nowMs() + ms),
    isBrownedOut: (provider) => nowMs() < (brownUntilMs.get(provider) ?? 0),
    arrivals,
    jobs,
  };
};
