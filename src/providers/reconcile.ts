// Reconciliation: compares a provider's list of jobs with the attempts of the service.
//
// A job or attempt that only one side knows may be a purchase without a customer.
import { holdsRef } from "../domain/ids.ts";
import type { SentRow } from "../store/store.ts";
import type { ListedJob } from "./port.ts";

/**
 * Clocks differ, and a job appears on the list shortly after its submission. No attempt this close to either end of the period is
 * reported as missing.
 */
export const EDGE_MS = 300_000;

/** `of`: the attempt whose reference the job carries. */
export type UnknownJob = ListedJob & { of: SentRow | null };
export type Reconciled = {
  matched: number;
  /** Jobs of the provider that no attempt owns. */
  strangers: UnknownJob[];
  /** Attempts with a job that is not on the provider's list. */
  missing: SentRow[];
  /** Sent attempts without a known job, whose reference no listed job carries. */
  untold: SentRow[];
};

/** Jobs that match no attempt, so that their price is unknown as well. */
export const unpricedOf = ({ strangers: unknownJobs }: Reconciled): UnknownJob[] => unknownJobs.filter(({ of }) => of === null);

/** States in which an attempt without a job has no job at the provider either. */
const NEVER_ACCEPTED: ReadonlySet<SentRow["state"]> = new Set(["intent", "rejected", "absent"]);

/** @param sent attempts from `EDGE_MS` before the start of the list on */
export const reconcile = (
  listed: readonly ListedJob[],
  sent: readonly SentRow[],
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
): Reconciled => {
  const byJob = new Map(sent.flatMap((row) => (row.jobId === null ? [] : [[row.jobId, row] as const])));
  const jobs = new Set(listed.map(({ jobId }) => jobId));
  const unknownJobs = listed
    .filter(({ jobId }) => !byJob.has(jobId))
    .map((job): UnknownJob => ({ ...job, of: sent.find(({ ref }) => job.marks.some((mark) => holdsRef(mark, ref))) ?? null }));
  const reported = new Set(unknownJobs.map(({ of }) => of));
  const isInside = ({ sentAtMs }: SentRow) => sentAtMs >= sinceMs + EDGE_MS && sentAtMs <= untilMs - EDGE_MS;
  return {
    matched: listed.length - unknownJobs.length,
    strangers: unknownJobs,
    missing: sent.filter((row) => row.jobId !== null && !jobs.has(row.jobId) && isInside(row)),
    untold: sent.filter((row) => row.jobId === null && !NEVER_ACCEPTED.has(row.state) && !reported.has(row) && isInside(row)),
  };
};
