// The life of a generation as it is stored, ready to be replayed: for the inspector and the command line, without what nobody may see.
import type { Replayed } from "../../actors/replay.ts";
import type { StoreReads } from "../store/store.ts";
import type { Attempt } from "../terms.ts";

export type Life = {
  record: NonNullable<Awaited<ReturnType<StoreReads["findGeneration"]>>>;
  given: Replayed;
  attempts: Attempt[];
};

/** What an operator may be shown of a row: no request, which holds the customer's prompt, and no query of a link, which opens it. */
export const tellable = <T>(row: T): T =>
  JSON.parse(
    JSON.stringify(row, (name, value) => {
      if (name === "request") return undefined;
      return typeof value === "string" && /^https?:/i.test(value) ? value.replace(/[?#].*$/s, "?…") : value;
    }),
  ) as T;

/**
 * Reads everything that was written of a generation.
 * @param collectMs what collecting may take, by the settings. @returns undefined when there is none of this id.
 */
export const readLife = async (reads: StoreReads, id: string, collectMs: number): Promise<Life | undefined> => {
  const record = await reads.findGeneration(id);
  const agreed = record && (await reads.planOf(record.seq));
  if (!record || !agreed) return undefined;
  const [journal, movements, attempts] = await Promise.all([
    reads.journalOf(record.seq),
    reads.movementsOf(record.seq),
    reads.attemptsOf(record.seq),
  ]);
  const moved = movements.map(({ atMs, kind, credits, from, to, attemptN }) => ({ atMs, kind, credits, from, to, attemptN }));
  const given = { createdAtMs: record.createdAtMs, collectMs, ...agreed, journal: journal.map(tellable), movements: moved };
  return { record, given, attempts: attempts.map(tellable) };
};
