// Every job that a provider took is held against the attempts: whose it is, whether it was really over, and whether its loss is listed.

import type { Attempt, AttemptState, Failure } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import { PROVIDERS } from "./market.ts";
import type { Upstream, UpstreamJob } from "./upstream.ts";

export type JobEvidence = {
  upstream: Pick<Upstream, "jobs">;
  reads: Pick<StoreReads, "jobOwner" | "findGeneration" | "attempt" | "inputOf" | "orphans">;
};

/** An attempt that sent a request, and the job that the provider made of it. */
type Made = { job: UpstreamJob; seq: number; attempt: Attempt };

const GIVEN_UP: ReadonlySet<AttemptState> = new Set(["lost", "capped", "superseded", "late", "mismatched"]);

/** An attempt's job is given up as failed or gone only when its provider said so. */
const auditFailure = (job: UpstreamJob, { class: reason }: Failure): string[] => {
  if (reason === "gone" && !job.gone.isBelievable) return [`${job.jobId}: taken for gone before it was`];
  if (reason === "job_failed" && job.fails !== "job_failed" && !job.cancelled)
    return [`${job.jobId}: taken for failed, and it was not`];
  // A file that can never be used is none of what was ordered either; one of another order is for whoever gets it.
  if (reason === "mismatched" && job.wrong === null && !job.fileIsLost)
    return [`${job.jobId}: taken for something else, and it was right`];
  return [];
};

const nameOf = (provider: string, jobId: string) => `${provider} ${jobId}`;

/**
 * Jobs without a mark may change places: whoever made a job that is nobody's may have another's instead, whose maker may have a
 * third. At the end of that way stands the attempt that was left without one.
 */
const leftWithout = (made: Made, byJob: ReadonlyMap<string, Made>): Made => {
  const passed = new Set<Made>();
  let last = made;
  while (!passed.has(last)) {
    passed.add(last);
    const { route, job } = last.attempt;
    last = (job && byJob.get(nameOf(route.provider, job.jobId))) ?? last;
  }
  return last;
};

/** Every job that a provider took is one attempt's, or the attempt that was left without it is on the operator's list. */
export const auditJobs = async ({ upstream, reads }: JobEvidence): Promise<string[]> => {
  const faults: string[] = [];
  const listed = new Set((await reads.orphans(0)).map(({ ref }) => ref));
  const byJob = new Map<string, Made>();
  for (const job of upstream.jobs) {
    const at = job.ref.lastIndexOf("-");
    const generation = await reads.findGeneration(`gen_${job.ref.slice(0, at)}`);
    const attempt = generation && (await reads.attempt(generation.seq, Number(job.ref.slice(at + 1))));
    if (generation && attempt) byJob.set(nameOf(job.provider, job.jobId), { job, seq: generation.seq, attempt });
    else faults.push(`${job.jobId}: taken for ${job.ref}, which is not on disk`);
  }
  for (const made of byJob.values()) {
    const { job, seq, attempt } = made;
    const owner = await reads.jobOwner(job.provider, job.jobId);
    if (!owner) {
      const left = leftWithout(made, byJob).attempt;
      if (!listed.has(left.ref)) faults.push(`${job.jobId}: nobody's; its attempt ${left.ref} is ${left.state}, and not listed`);
    } else if (owner.seq === seq && owner.n === attempt.n) {
      const isPaid = job.fails === null && !job.cancelled;
      if (isPaid && GIVEN_UP.has(attempt.state) && !listed.has(attempt.ref))
        faults.push(`${job.jobId}: its attempt ${attempt.ref} is ${attempt.state}, and not listed`);
      if (attempt.failure) faults.push(...auditFailure(job, attempt.failure));
      if (attempt.failure?.class === "mismatched" && !listed.has(attempt.ref))
        faults.push(`${job.jobId}: paid for something else, and its attempt ${attempt.ref} is not listed`);
    } else {
      const isUnmarked = PROVIDERS[job.provider]?.recovery === "list_match";
      const input = isUnmarked && (await reads.inputOf(owner.seq));
      if (!input || JSON.stringify(input.raw.prompt) !== job.input)
        faults.push(`${job.jobId}: ${job.ref}'s, but kept by attempt ${owner.n} of ${owner.seq}`);
    }
  }
  for (const [ref, jobs] of Map.groupBy(upstream.jobs, (job) => job.ref))
    if (jobs.length > 1) faults.push(`${ref}: bought ${jobs.length} jobs`);
  return faults;
};
