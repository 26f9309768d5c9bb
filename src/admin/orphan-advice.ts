// Advice on orphans for the command line and the console: known facts and remedies.
import type { OrphanRow } from "../store/store.ts";

/** `toDo` is about this orphan, `general` about all orphans of its kind, `where` is the part specific to this orphan. */
export type Advice = { known: string; toDo: string; general: string; where: string };

const iso = (ms: number): string => new Date(ms).toISOString();

/** Location of the job at the provider: the provider's job id, else the reference that was sent. */
const whereOf = ({ provider, jobId, ref }: OrphanRow): string =>
  jobId === null ? `a job of ${ref} in the list of ${provider}` : `job ${jobId} at ${provider}`;

/** Known facts about an orphan and the recommended action. */
export const adviceOf = (row: OrphanRow): Advice => {
  const where = `${row.jobId === null ? `reference ${row.ref}` : `job ${row.jobId}`} at ${row.provider}`;
  const paid = (known: string): Advice => ({
    known,
    toDo: `billed by the provider: request a refund from ${row.provider}, or record the cost`,
    general: "billed: request a refund from the provider, or record the cost",
    where,
  });
  if (row.fate === "late") return paid("the result was delivered after the attempt was given up");
  if (row.failure?.isBilled === true) return paid("the response contains a cost and no file");
  if (row.fate === "mismatched") {
    // Only the failed check is shown; the complete text is the reason of the failure.
    const advice = paid("the delivered result differs from the order");
    const [, what] = /(?:^|: )(files|kind|length|size|aspect|sound): /.exec(row.failure?.detail ?? "") ?? [];
    return what ? { ...advice, where: `${where}: ${what}` } : advice;
  }
  if (row.fate === "unusable") return paid("the result could not be downloaded or read");
  const known =
    row.failure?.class === "gone"
      ? "the provider no longer has the job"
      : row.jobId === null
        ? "the response to the submission was lost; no job was found"
        : "the end of the job was not observed";
  if (row.isWatched && row.watchUntilMs !== null) {
    const outcome = row.status === "running" ? "a timely result is delivered and charged" : "a result is marked as late";
    const until = iso(row.watchUntilMs);
    return {
      known,
      toDo: `no action yet: the job is polled until ${until}; ${outcome}`,
      general: `no action yet, the job is polled: ${outcome}`,
      where: `until ${until}`,
    };
  }
  const then = "if it exists, cancel it or request a refund";
  return { known, toDo: `search for ${whereOf(row)}: ${then}`, general: `search for it at the provider: ${then}`, where };
};
