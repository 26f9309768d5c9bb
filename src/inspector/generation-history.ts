// The life of a generation as it is stored, ready to be replayed: for the inspector and the command line, without what nobody may see.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { Attempt } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";

export type Life = {
  record: NonNullable<Awaited<ReturnType<StoreReads["findGeneration"]>>>;
  given: Replayed;
  attempts: Attempt[];
};

/** What an operator may be shown of a row: no request, which holds the customer's prompt, and no query of a link, which opens it. */
export const isReplayable = <T>(row: T): T =>
  JSON.parse(
    JSON.stringify(row, (name, value) => {
      if (name === "request") return undefined;
      return typeof value === "string" && /^https?:/i.test(value) ? value.replace(/[?#].*$/s, "?…") : value;
    }),
  ) as T;

/** Which node wrote a step of a generation, by its name; where one process alone writes there is nothing to tell. */
export const readWriters = async (
  { nodes }: Pick<StoreReads, "nodes">,
  seq: number,
): Promise<(version: number) => { node?: string }> => {
  if (nodes === null) return () => ({});
  const writers = await nodes.writers(seq);
  const names = await nodes.names([...new Set(writers.values())]);
  return (version) => {
    const epoch = writers.get(version);
    // What was moved here from a data directory was written by no node.
    const node = epoch === undefined ? undefined : names.get(epoch);
    return node === undefined ? {} : { node };
  };
};

/**
 * Reads everything that was written of a generation.
 * @param collectMs what collecting may take, by the settings. @returns undefined when there is none of this id.
 */
export const readLife = async (reads: StoreReads, id: string, collectMs: number): Promise<Life | undefined> => {
  const record = await reads.findGeneration(id);
  const agreed = record && (await reads.planOf(record.seq));
  if (!record || !agreed) return undefined;
  const [journal, movements, attempts, writerOf] = await Promise.all([
    reads.journalOf(record.seq),
    reads.movementsOf(record.seq),
    reads.attemptsOf(record.seq),
    readWriters(reads, record.seq),
  ]);
  const moved = movements.map(({ atMs, kind, credits, from, to, attemptN }) => ({ atMs, kind, credits, from, to, attemptN }));
  const lines = journal.map((line) => ({ ...isReplayable(line), ...writerOf(line.version) }));
  const given = { createdAtMs: record.createdAtMs, collectMs, ...agreed, journal: lines, movements: moved };
  return { record, given, attempts: attempts.map(isReplayable) };
};
