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
    toDo: `it was paid: ask ${row.provider} for it back, or book it as a loss`,
    general: "it was paid: ask the provider for it back, or book it as a loss",
    where,
  });
  if (row.fate === "late") return paid("it delivered when its result was no longer wanted");
  if (row.failure?.isBilled === true) return paid("the answer to it holds no file and names a cost");
  if (row.fate === "mismatched") {
    // Only the failed check is shown; the complete text is the reason of the failure.
    const advice = paid("it delivered something else than what was ordered");
    const [, what] = /(?:^|: )(files|kind|length|size|aspect|sound): /.exec(row.failure?.detail ?? "") ?? [];
    return what ? { ...advice, where: `${where}: ${what}` } : advice;
  }
  if (row.fate === "unusable") return paid("it delivered a result that could not be had or read");
  const known =
    row.failure?.class === "gone"
      ? "the provider no longer knows its job"
      : row.jobId === null
        ? "its request was sent and its answer lost; no job was found"
        : "its job was not seen to end";
  if (row.isWatched && row.watchUntilMs !== null) {
    const outcome =
      row.status === "running" ? "if it delivers in time it is used and charged" : "if it delivers it is marked late";
    const until = iso(row.watchUntilMs);
    return {
      known,
      toDo: `nothing yet: it is asked about until ${until}; ${outcome}`,
      general: `nothing yet, it is asked about: ${outcome}`,
      where: `until ${until}`,
    };
  }
  const then = "if it is there, cancel it or ask for it back";
  return { known, toDo: `look for ${whereOf(row)}: ${then}`, general: `look for it at the provider: ${then}`, where };
};
