// Network of a simulated world: the providers port over the upstream, with network faults.

import type { Failure } from "../../domain/types.ts";
import { type Bulkhead, createBulkhead } from "../../providers/bulkhead.ts";
import { createJobClaims } from "../../providers/job-claims.ts";
import type { PollOutcome, Providers, SubmitOutcome, Work } from "../../providers/port.ts";
import { createConfirmBound } from "./confirm-bound.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Faults } from "./faults.ts";
import { lookUpOnList } from "./job-lists.ts";
import { LATEST_ARRIVAL_MS, PROVIDERS } from "./market.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";
import type { Trace } from "./trace.ts";
import type { Arrival, Upstream, UpstreamJob } from "./upstream.ts";

export type NetworkDeps = {
  life: NodeLife;
  dice: Rng;
  faults: () => Faults;
  upstream: Upstream;
  isOwned: (provider: string, jobId: string) => Promise<boolean>;
  trace: Trace;
  /** A submission is sent to its provider. */
  left: (provider: string, ref: string) => void;
  /** A provider responds with the result itself after this time. */
  worksFor: (ms: number) => void;
  /** A response that names a job was read. */
  inHand: (job: UpstreamJob) => void;
  fault: (text: string) => void;
  situations: CoverageCounters;
  /** The service learns that the provider accepted nothing, and may send this attempt again. */
  refusedFor: (ref: string) => void;
};

/** Deadlines of calls, as in the service. */
const SUBMIT_MS = 30_000;
const REQUEST_MS = 15_000;
/** Submissions in flight per provider; few, so that attempts wait for a slot. */
const SLOTS = 2;

const FAILURES: Readonly<Record<"rateLimited" | "refused" | "broken", (dice: Rng) => Failure>> = {
  rateLimited: (dice) => ({
    class: "rate_limited",
    detail: "429",
    ...(dice.chance(0.5) ? { retryAfterMs: dice.whole(1, dice.pick([10, 40, 1_200])) * 1000 } : {}),
  }),
  refused: (dice) => ({ class: dice.pick(["refused_input", "invalid_for_route", "input_unreachable"]), detail: "422" }),
  broken: (dice) => ({ class: dice.pick(["overloaded", "config_fault", "balance"]), detail: "refused" }),
};

/** The URL of a job's file. Only the newest link of a job works. */
export const fileUrl = (job: UpstreamJob, made: number): string => `https://files.test/${job.provider}/${job.jobId}/${made}`;
/** The URL of a result in a response, before it is stored. */
const inlineUrl = ({ provider, jobId }: UpstreamJob): string => `${INLINE}files.test/${provider}/${jobId}/0`;
export const INLINE = "inline://";

const requestOf = ({ attempt }: Work): { input: string; clip: string | null } => {
  const { input, clip } = JSON.parse(attempt.request ?? "null") as { input: string; clip: string | null };
  return { input, clip };
};

/** The providers of one life. `slotsInUse`: how many submission slots are taken. */
export type Network = Providers & { slotsInUse(): number };

export const createNetwork = (deps: NetworkDeps): Network => {
  const { life, dice, upstream, trace } = deps;
  const claims = createJobClaims();
  const pools = new Map<string, Bulkhead>(Object.keys(PROVIDERS).map((provider) => [provider, createBulkhead(SLOTS)]));
  const questions = createConfirmBound(deps);
  let linksMade = 0;
  const traits = (provider: string) => {
    const known = PROVIDERS[provider];
    if (!known) throw new Error(`no provider ${provider}`);
    return known;
  };
  const travelMs = () => dice.between(5, 400) * dice.roll();
  const arriveWith = (work: Work, isQuestion: boolean) =>
    upstream.arrive({
      provider: work.attempt.route.provider,
      ref: work.attempt.ref,
      kind: work.attempt.route.kind,
      isQuestion,
      ...requestOf(work),
    });

  /** The response to an arrival. */
  const answerOf = (arrival: Arrival): SubmitOutcome => {
    if (arrival.job && arrival.job.answersAfterMs !== null)
      return {
        ...{ kind: "announced", job: { jobId: arrival.job.jobId } },
        results: [{ url: inlineUrl(arrival.job), mime: "image/png" }],
      };
    if (arrival.job) return { kind: "accepted", job: { jobId: arrival.job.jobId } };
    const failure = FAILURES[arrival.verdict as keyof typeof FAILURES](dice);
    return { kind: "rejected", failure };
  };

  /** A job of the provider that another stored attempt already owns. */
  const anothersJob = async (provider: string, ref: string): Promise<string | undefined> => {
    for (const job of upstream.jobs)
      if (job.provider === provider && job.ref !== ref && (await deps.isOwned(provider, job.jobId))) return job.jobId;
    return undefined;
  };

  const submit = async (work: Work, signal: AbortSignal): Promise<SubmitOutcome> => {
    const faults = deps.faults();
    const { ref, route } = work.attempt;
    await life.cross("submit: before the bytes leave");
    if (dice.chance(faults.refusedConnection)) {
      await life.sleep(travelMs(), signal);
      deps.refusedFor(ref);
      return { kind: "rejected", failure: { class: "not_sent", detail: "connection refused" } };
    }
    trace.report(life.name, "submit", ref, route.provider);
    deps.left(route.provider, ref);
    const isLost = dice.chance(faults.lostRequest);
    const arrivalMs = dice.chance(faults.lateRequest) ? dice.between(1_000, LATEST_ARRIVAL_MS) : travelMs();
    const backMs = travelMs();
    const isAnswerLost = dice.chance(faults.lostAnswer);
    const isAnswerBad = dice.chance(faults.badAnswer);
    // A sent request arrives, regardless of its sender's state.
    let arrival: Arrival | null = null;
    if (!isLost)
      life.world.after(arrivalMs, () => {
        arrival = arriveWith(work, false);
      });
    const isReported = !isLost && !isAnswerLost && arrivalMs + backMs < SUBMIT_MS;
    await life.sleep(isReported ? arrivalMs + backMs : dice.chance(0.5) ? SUBMIT_MS : dice.between(50, SUBMIT_MS), signal);
    const seen = arrival as Arrival | null;
    if (!isReported || signal.aborted || seen === null) return { kind: "ambiguous", detail: "no answer" };
    const workMs = seen.job?.answersAfterMs ?? 0;
    if (workMs > 0) deps.worksFor(workMs);
    if (workMs > 0) await life.sleep(Math.min(workMs, SUBMIT_MS - arrivalMs - backMs), signal);
    if (signal.aborted || workMs > SUBMIT_MS - arrivalMs - backMs) return { kind: "ambiguous", detail: "no answer" };
    if (upstream.isBrownedOut(route.provider)) return { kind: "ambiguous", detail: "502" };
    if (isAnswerBad) return { kind: "ambiguous", detail: "an answer that is not one" };
    const outcome = answerOf(seen);
    if (outcome.kind === "accepted") {
      const other = dice.chance(faults.wrongJob) ? await anothersJob(route.provider, ref) : undefined;
      if (other) outcome.job = { jobId: other };
      if (!claims.take(route.provider, outcome.job.jobId, ref))
        return { kind: "ambiguous", detail: "the job was given to another attempt" };
    }
    await life.cross("submit: answer read, not written down");
    if (outcome.kind === "rejected") deps.refusedFor(ref);
    if (outcome.kind === "accepted" && seen.job?.jobId === outcome.job.jobId && !signal.aborted) deps.inHand(seen.job);
    return outcome;
  };

  const missingJobOutcome = ({ gone }: UpstreamJob, now: number): PollOutcome => {
    gone.times += 1;
    if (gone.times === 1) gone.sinceMs = now;
    // One minute as the service counts it, reduced by the possible delay of two responses.
    gone.isBelievable ||= gone.times >= 3 && now - gone.sinceMs >= 60_000 - 2 * REQUEST_MS;
    return { kind: "gone" };
  };
  const statusOf = (provider: string, job: UpstreamJob | undefined): PollOutcome => {
    const faults = deps.faults();
    const now = life.world.nowMs();
    if (upstream.isOut(provider) || upstream.isBrownedOut(provider) || dice.chance(faults.unclearPoll))
      return { kind: "unclear", detail: "502", ...(dice.chance(0.2) ? { retryAfterMs: 5_000 } : {}) };
    if (!job) return { kind: "gone" };
    if (now >= job.forgottenAtMs || dice.chance(faults.forgottenPoll)) return missingJobOutcome(job, now);
    job.gone.times = 0;
    if (now >= job.deafFromMs && now < job.deafUntilMs) return { kind: "unclear", detail: "no answer" };
    if (job.cancelled) return { kind: "failed", failure: { class: "job_failed", detail: "cancelled" } };
    if (now < job.endsAtMs || dice.chance(faults.stalePoll)) return { kind: "pending", seen: "running" };
    if (job.fails) return { kind: "failed", failure: { class: job.fails, detail: "the job failed" } };
    linksMade += 1;
    job.announcedAtMs = now;
    return { kind: "announced", results: [{ url: fileUrl(job, linksMade), mime: "image/png" }] };
  };

  /** A request and its response, both with network latency; the signal ends the wait early. */
  const ask = async <T>(name: "poll" | "cancel" | "find", signal: AbortSignal, question: () => T): Promise<T> => {
    await life.cross(`${name}: before`);
    await life.sleep(travelMs(), signal);
    const answer = question();
    await life.sleep(dice.chance(0.03) ? dice.between(0, REQUEST_MS) : travelMs(), signal);
    await life.cross(`${name}: answered`);
    return answer;
  };

  return {
    configured: (provider) => provider in PROVIDERS,
    rekey: () => [],
    rekeyAll: () => [],
    sharingKey: (id) => [id],
    traits,
    fileHeaders: () => ({}),
    baseUrlOf: () => "https://provider.test",
    fileTraits: () => ({ takesLinks: true, forms: [] }),
    upload: () => Promise.reject(new Error("nothing is uploaded here")),
    placeOf: () => "",
    jobInCallback: () => undefined,
    list: () => Promise.resolve({ kind: "none" }),
    check: () => Promise.resolve({ kind: "none" }),
    slot: (provider, signal) => (pools.get(provider) ?? createBulkhead(SLOTS)).take(signal),
    slotsInUse: () => [...pools.values()].reduce((sum, { inUse }) => sum + inUse, 0),
    trySlot: (provider) => (pools.get(provider) ?? createBulkhead(SLOTS)).tryTake(),
    compose: ({ attempt, input, given = {} }) => {
      upstream.composed(attempt.ref);
      const link = input.raw.video_url;
      const clip = typeof link === "string" ? (given[link] ?? link) : null;
      return JSON.stringify({ ref: attempt.ref, input: input.filled.prompt ?? "", clip });
    },
    submit,
    poll: (work, signal) =>
      ask("poll", signal, () =>
        statusOf(work.attempt.route.provider, upstream.job(work.attempt.route.provider, work.attempt.job?.jobId ?? "")),
      ),
    cancel: (work, signal) =>
      ask("cancel", signal, () => {
        const job = upstream.job(work.attempt.route.provider, work.attempt.job?.jobId ?? "");
        if (!job || life.world.nowMs() >= job.endsAtMs || dice.chance(0.5)) return false;
        job.cancelled = true;
        return true;
      }),
    find: async (work, signal, only) => {
      const { ref, route } = work.attempt;
      const { recovery } = traits(route.provider);
      const isOut = upstream.isOut(route.provider) || upstream.isBrownedOut(route.provider);
      const isUnclear = isOut || dice.chance(deps.faults().unclearFind);
      if (work.attempt.state === "sending") questions.requested(ref, isUnclear, signal);
      if (recovery === "key" && !isUnclear) {
        await life.cross("find: before");
        await life.sleep(travelMs(), signal);
        if (signal.aborted) return { kind: "unclear", detail: "given up" };
        const arrival = arriveWith(work, false);
        await life.cross("find: answered");
        // A refusal of the second request proves nothing about the first.
        return arrival.job ? { kind: "found", job: { jobId: arrival.job.jobId } } : { kind: "unclear", detail: arrival.verdict };
      }
      if (isUnclear) return ask("find", signal, () => ({ kind: "unclear", detail: "503" }) as const);
      if (recovery === "client_id")
        return ask("find", signal, () => {
          const job = upstream.byRef(route.provider, ref);
          return job ? ({ kind: "found", job: { jobId: job.jobId } } as const) : ({ kind: "absent" } as const);
        });
      await life.cross("find: before");
      await life.sleep(travelMs(), signal);
      const outcome = await lookUpOnList({
        ...{ work, upstream, recovery, claims, signal },
        isOwned: deps.isOwned,
        providerMs: life.world.nowMs(),
        nowMs: life.clock.nowMs,
        bornMs: work.sentElsewhere ? Number.POSITIVE_INFINITY : life.bornMs,
        onlyMarked: only === "marked",
      });
      await life.cross("find: answered");
      return outcome;
    },
  };
};
