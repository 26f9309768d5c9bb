// Jobs of the simulator. Their state depends only on the time.
//
// A restart therefore changes nothing.
import type { Clock } from "../domain/clock.ts";
import type { JsonObject, MediaKind } from "../domain/types.ts";
import { chance } from "./fault-script.ts";
import { type Faults, isFault, numberOf } from "./faults.ts";
import type { InputBytes, Received } from "./input-files.ts";
import type { LogLine } from "./log.ts";

/** The id of a dialect, e.g. `fal`. */
export type Provider = string;
export type Plan = { queuedMs: number /** null: never ends. */; totalMs: number | null; seed: number };
export type Job = {
  id: string;
  provider: Provider;
  endpoint: string;
  input: JsonObject;
  ref: string | null;
  acceptedAtMs: number;
  plan: Plan;
  faults: Faults;
  cancelledAtMs: number | null;
  /** The number of polls and downloads that this process served. */
  polls: number;
  fetches: number;
  announced: boolean;
  fetched: boolean;
  /** The received clips and sounds; null until they are measured, and in a later process. */
  received: Received[] | null;
  /** All files that the job's input names or contains; null until they are read, and in a later process. */
  inputs: InputBytes[] | null;
};
export type JobState = "queued" | "running" | "done" | "cancelled";

/** Results are kept for one hour after the end, as fal and Replicate document. */
export const RESULT_RETENTION_MS = 3_600_000;

/** Typical duration of a job at speed 1: an image 2 s, a 5 s clip 6 s, sound 2 s. */
const usualMs = (kind: MediaKind, lengthMs: number, count: number): number =>
  kind === "video" ? 3000 + lengthMs * 0.6 : 2000 + (count - 1) * 250;

/** Plans a job: about a tenth of its duration is in the queue, and its seed varies the duration by one eighth. */
export const planJob = (
  what: { kind: MediaKind; lengthMs: number; count: number; faults: Faults; seed: number },
  speed: number,
): Plan => {
  const { run, poll } = what.faults;
  const roll = chance(what.seed);
  const usual = (usualMs(what.kind, what.lengthMs, what.count) * (0.875 + roll() * 0.25)) / speed;
  const plan = (totalMs: number | null): Plan => ({ queuedMs: Math.round(usual * 0.1), totalMs, seed: what.seed });
  if (isFault(run, "fail", "invalid", "no-path") || isFault(poll, "out-of-order"))
    return { queuedMs: 0, totalMs: 0, seed: what.seed };
  if (isFault(run, "stuck")) return plan(null);
  if (isFault(run, "late-ms")) return plan(numberOf(run, "ms"));
  if (isFault(run, "slow", "late")) return plan(Math.round(usual * numberOf(run, "factor")));
  if (isFault(run, "aborted", "refuse", "input-unreachable")) return plan(Math.round(usual * 0.5));
  return plan(Math.round(usual));
};

export const endsAtMs = (job: Job): number =>
  job.cancelledAtMs ?? (job.plan.totalMs === null ? Number.POSITIVE_INFINITY : job.acceptedAtMs + job.plan.totalMs);

export const stateAt = (job: Job, nowMs: number): JobState => {
  if (job.cancelledAtMs !== null && nowMs >= job.cancelledAtMs) return "cancelled";
  if (nowMs >= endsAtMs(job)) return "done";
  return nowMs >= job.acceptedAtMs + job.plan.queuedMs ? "running" : "queued";
};

/** All jobs, by id and in order of acceptance. */
export const createJobs = (clock: Clock, former: readonly LogLine[]) => {
  const byId = new Map<string, Job>();
  const byProvider = new Map<Provider, Job[]>();

  const add = (job: Job) => {
    byId.set(job.id, job);
    const others = byProvider.get(job.provider);
    if (others) others.push(job);
    else byProvider.set(job.provider, [job]);
  };

  for (const line of former) {
    if (line.type === "submission") {
      if (!line.accepted || line.job_id === null || line.plan === undefined) continue;
      add({
        id: line.job_id,
        provider: line.provider,
        endpoint: line.endpoint,
        input: line.input ?? {},
        ref: line.ref,
        acceptedAtMs: Date.parse(line.at),
        plan: { queuedMs: line.plan.queued_ms, totalMs: line.plan.total_ms, seed: line.plan.seed },
        faults: line.faults,
        cancelledAtMs: null,
        polls: 0,
        fetches: 0,
        announced: false,
        fetched: false,
        received: null,
        inputs: null,
      });
      continue;
    }
    const job = byId.get(line.job_id);
    if (!job) continue;
    if (line.type === "cancelled") job.cancelledAtMs = Date.parse(line.at);
    if (line.type === "announced") job.announced = true;
    if (line.type === "fetched") job.fetched = true;
  }

  return {
    add,
    find: (provider: Provider, id: string): Job | undefined => {
      const job = byId.get(id);
      return job?.provider === provider ? job : undefined;
    },
    byId: (id: string) => byId.get(id),
    /** Oldest first. */
    of: (provider: Provider): readonly Job[] => byProvider.get(provider) ?? [],
    all: (): readonly Job[] => [...byId.values()],
    state: (job: Job) => stateAt(job, clock.nowMs()),
    /** Deletes the record of a job on request of its client. */
    forget: (job: Job): void => {
      byId.delete(job.id);
      byProvider.set(
        job.provider,
        (byProvider.get(job.provider) ?? []).filter((other) => other !== job),
      );
    },
  };
};
export type Jobs = ReturnType<typeof createJobs>;
