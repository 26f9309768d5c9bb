// Holds a provider's list of jobs against our attempts: what only one of the two knows is what somebody may have paid for nothing.
import { holdsRef } from "../domain/ids.ts";
import type { SentRow } from "../store/store.ts";
import type { ListedJob } from "./port.ts";

/** Clocks differ, and a job is on a list a moment after it was sent: this close to an end of the time nothing is said to be missing. */
export const EDGE_MS = 300_000;

/** `of`: the attempt whose reference it carries. */
export type Stranger = ListedJob & { of: SentRow | null };
export type Reconciled = {
  matched: number;
  /** At the provider, and no attempt has it. */
  strangers: Stranger[];
  /** An attempt has it, and it is not on the provider's list. */
  missing: SentRow[];
  /** Sent, no job of it is known here, and none on the list carries its reference. */
  untold: SentRow[];
};

/** Jobs that nobody here knows anything of, their price neither. */
export const unpricedOf = ({ strangers }: Reconciled): Stranger[] => strangers.filter(({ of }) => of === null);

/** States in which an attempt that has no job has none at the provider either. */
const NEVER_ACCEPTED: ReadonlySet<SentRow["state"]> = new Set(["intent", "rejected", "absent"]);

/** @param sent attempts from `EDGE_MS` before the time that the list begins at */
export const reconcile = (
  listed: readonly ListedJob[],
  sent: readonly SentRow[],
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
): Reconciled => {
  const byJob = new Map(sent.flatMap((row) => (row.jobId === null ? [] : [[row.jobId, row] as const])));
  const jobs = new Set(listed.map(({ jobId }) => jobId));
  const strangers = listed
    .filter(({ jobId }) => !byJob.has(jobId))
    .map((job): Stranger => ({ ...job, of: sent.find(({ ref }) => job.marks.some((mark) => holdsRef(mark, ref))) ?? null }));
  const told = new Set(strangers.map(({ of }) => of));
  const isInside = ({ sentAtMs }: SentRow) => sentAtMs >= sinceMs + EDGE_MS && sentAtMs <= untilMs - EDGE_MS;
  return {
    matched: listed.length - strangers.length,
    strangers,
    missing: sent.filter((row) => row.jobId !== null && !jobs.has(row.jobId) && isInside(row)),
    untold: sent.filter((row) => row.jobId === null && !NEVER_ACCEPTED.has(row.state) && !told.has(row) && isInside(row)),
  };
};
