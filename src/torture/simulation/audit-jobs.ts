// Audits provider jobs: owner, actual end, and listing as an orphan.

import type { Attempt, AttemptState, Failure, Json } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import type { ClientLog } from "./clients.ts";
import { PROVIDERS } from "./market.ts";
import type { Upstream, UpstreamJob } from "./upstream.ts";

export type JobEvidence = {
  notebook: Pick<ClientLog, "heard">;
  upstream: Pick<Upstream, "jobs">;
  reads: Pick<StoreReads, "jobOwner" | "findGeneration" | "attempt" | "inputOf" | "orphans">;
};

/** An attempt that sent a request, and the job that the provider created for it. */
type Made = { job: UpstreamJob; seq: number; attempt: Attempt };

const GIVEN_UP: ReadonlySet<AttemptState> = new Set(["lost", "capped", "superseded", "late", "mismatched"]);

/** An attempt's job counts as failed or gone only if its provider reported it. */
const auditFailure = (job: UpstreamJob, { class: reason }: Failure): string[] => {
  if (reason === "gone" && !job.gone.isBelievable && !job.cancelled) return [`${job.jobId}: taken for gone before it was`];
  if (reason === "job_failed" && job.fails !== "job_failed" && !job.cancelled)
    return [`${job.jobId}: taken for failed, and it was not`];
  // A mismatch requires a wrong result of the job, or a file that can never be used.
  if (reason === "mismatched" && job.wrong === null && !job.fileIsLost)
    return [`${job.jobId}: taken for something else, and it was right`];
  return [];
};

const nameOf = (provider: string, jobId: string) => `${provider} ${jobId}`;

/**
 * Jobs without a reference can be exchanged. An attempt whose job has no owner may have the job of a second attempt, which may
 * have that of a third. Follows this chain to the attempt without a job.
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

/** The prompt of a generation. An erased one has none in the store, and a client that can erase has heard of it. */
const promptOf = async (seq: number, { notebook, reads }: Pick<JobEvidence, "notebook" | "reads">): Promise<Json | undefined> => {
  const stored = (await reads.inputOf(seq))?.raw.prompt;
  return stored ?? notebook.heard.find(({ accepted }) => accepted?.seq === seq)?.planned.prompt;
};

/** Every job that a provider accepted belongs to one attempt, or the attempt without its job is an orphan. */
export const auditJobs = async ({ notebook, upstream, reads }: JobEvidence): Promise<string[]> => {
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
      if (!listed.has(left.ref))
        faults.push(`${job.jobId}: a job without an owner; its attempt ${left.ref} is ${left.state}, and not listed`);
    } else if (owner.seq === seq && owner.n === attempt.n) {
      const isPaid = job.fails === null && !job.cancelled;
      if (isPaid && GIVEN_UP.has(attempt.state) && !listed.has(attempt.ref))
        faults.push(`${job.jobId}: its attempt ${attempt.ref} is ${attempt.state}, and not listed`);
      if (attempt.failure) faults.push(...auditFailure(job, attempt.failure));
      if (attempt.failure?.class === "mismatched" && !listed.has(attempt.ref))
        faults.push(`${job.jobId}: delivered a mismatched result, and its attempt ${attempt.ref} is not listed`);
    } else {
      const isUnmarked = PROVIDERS[job.provider]?.recovery === "list_match";
      const prompt = isUnmarked ? await promptOf(owner.seq, { notebook, reads }) : undefined;
      if (prompt === undefined || JSON.stringify(prompt) !== job.input)
        faults.push(`${job.jobId}: ${job.ref}'s, but kept by attempt ${owner.n} of ${owner.seq}`);
    }
  }
  for (const [ref, jobs] of Map.groupBy(upstream.jobs, (job) => job.ref))
    if (jobs.length > 1) faults.push(`${ref}: bought ${jobs.length} jobs`);
  return faults;
};
