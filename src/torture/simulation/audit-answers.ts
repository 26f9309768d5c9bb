// Audits provider responses: each one that a process read is stored.
//
// The only exception is a response that was lost with its process before it could be stored.
import { seqOfGenerationId } from "../../domain/ids.ts";
import type { Attempt } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import type { Answer, Answers } from "./unsaved-outcomes.ts";

/**
 * A response is on its node's disk, or in the store, within this time. It includes the wait for the store and for a slow disk.
 */
const KEPT_WITHIN_MS = 1_000;

/** Whether the response may be lost: the process ended too soon, or could not store it. */
const mayBeGone = ({ life, atMs, hasDisk, wasKept, wasRefused }: Answer): boolean => {
  if (wasKept || life.isAlive()) return false;
  const wasStopped = life.frozenUntilMs() >= atMs;
  return !hasDisk || wasRefused || wasStopped || life.endedAtMs() - atMs < KEPT_WITHIN_MS;
};

/** The attempt of the response. */
export const attemptOf = ({ attempt }: Pick<StoreReads, "attempt">, { ref }: Answer): Promise<Attempt | undefined> => {
  const at = ref.lastIndexOf("-");
  return attempt(seqOfGenerationId(`gen_${ref.slice(0, at)}`) ?? -1, Number(ref.slice(at + 1)));
};
export const isOnRow = ({ jobId }: Answer, attempt: Attempt | undefined): boolean => attempt?.job?.jobId === jobId;

/**
 * Whether the job belongs to another attempt: while the response waited on a node's disk, a job lookup by the same input found it
 * for an attempt of another node. A job has one owner, and nothing of it is lost.
 */
const isOwnedElsewhere = async ({ jobOwner }: Pick<StoreReads, "jobOwner">, { provider, jobId }: Answer): Promise<boolean> =>
  (await jobOwner(provider, jobId)) !== undefined;

export const auditAnswers = async (of: {
  answers: Answers;
  reads: Pick<StoreReads, "attempt" | "jobOwner">;
}): Promise<string[]> => {
  const faults: string[] = [];
  for (const answer of of.answers.values()) {
    const { ref, jobId, life } = answer;
    const attempt = await attemptOf(of.reads, answer);
    if (isOnRow(answer, attempt) || mayBeGone(answer) || (await isOwnedElsewhere(of.reads, answer))) continue;
    const kept = answer.wasKept ? ", and kept on its disk" : "";
    faults.push(`${jobId}: ${life.name} had it in hand for ${ref}${kept}, and the attempt is ${attempt?.state} without it`);
  }
  return faults;
};
