// Audits abandoned attempts: each is polled to its end, and late results are marked.
import type { Evidence } from "./audit.ts";

const MINUTE_MS = 60_000;
/** The longest pause between polls of an abandoned attempt, including gateway failures. */
const MAX_SILENCE_MS = 15 * MINUTE_MS;
/** A result and the end of its generation may cross within this time. */
const CROSSING_MS = MINUTE_MS;

/**
 * @param nowMs true time
 * @param openSinceMs true time since which all nodes have been open without interruption
 * @param isClockRight no clock was changed, so the service's times are true
 * @param isShared a fenced node may have polled again for an attempt that another node has charged
 */
export const auditWatches = async (
  { upstream, reads }: Evidence,
  nowMs: number,
  openSinceMs: number,
  isClockRight: boolean,
  isShared: boolean,
): Promise<string[]> => {
  const faults: string[] = [];
  for (const job of upstream.jobs) {
    const owner = await reads.jobOwner(job.provider, job.jobId);
    const attempt = owner && (await reads.attempt(owner.seq, owner.n));
    if (!attempt) continue;
    const isAsked = attempt.watchUntilMs !== null;
    const hasBeenOverMs = nowMs - Math.max(job.endsAtMs, job.deafUntilMs, openSinceMs, job.takenAtMs);
    if (isAsked && hasBeenOverMs > MAX_SILENCE_MS && nowMs < job.forgottenAtMs)
      faults.push(
        `${job.jobId}: over for ${Math.round(hasBeenOverMs / MINUTE_MS)} min, and its ${attempt.state} attempt ${attempt.ref} is still to be asked about`,
      );
    const generation = await reads.findGeneration(`gen_${attempt.ref.slice(0, attempt.ref.lastIndexOf("-"))}`);
    const endedMs = generation?.completedAtMs ?? Number.POSITIVE_INFINITY;
    const isTooLate = job.announcedAtMs > endedMs + CROSSING_MS && job.announcedAtMs < nowMs - CROSSING_MS;
    if (isShared && attempt.state === "delivered") continue;
    if (isTooLate && isClockRight && !isAsked && attempt.state !== "late")
      faults.push(`${job.jobId}: delivered too late, and its attempt ${attempt.ref} is ${attempt.state}`);
  }
  return faults;
};
