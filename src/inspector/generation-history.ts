// Reads the stored history of a generation for a replay, without secrets.
//
// The inspector and the command line use it.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { Attempt } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";

export type GenerationHistory = {
  record: NonNullable<Awaited<ReturnType<StoreReads["findGeneration"]>>>;
  given: Replayed;
  attempts: Attempt[];
};

/** Removes from a row the request, which contains the customer's prompt, and the query of links, which authorizes access. */
export const toJsonRow = <T>(row: T): T =>
  JSON.parse(
    JSON.stringify(row, (name, value) => {
      if (name === "request") return undefined;
      return typeof value === "string" && /^https?:/i.test(value) ? value.replace(/[?#].*$/s, "?…") : value;
    }),
  ) as T;

/** Returns a lookup from the version of a transition to the name of its node; for a single process it returns no node. */
export const readWriters = async (
  { nodes }: Pick<StoreReads, "nodes">,
  seq: number,
): Promise<(version: number) => { node?: string }> => {
  if (nodes === null) return () => ({});
  const writers = await nodes.writers(seq);
  const names = await nodes.names([...new Set(writers.values())]);
  return (version) => {
    const epoch = writers.get(version);
    // Transitions of a migrated data directory have no node.
    const node = epoch === undefined ? undefined : names.get(epoch);
    return node === undefined ? {} : { node };
  };
};

/**
 * Reads everything that is stored about a generation.
 * @param collectMs configured timeout of collecting. @returns undefined if the id is unknown.
 */
export const readGenerationHistory = async (
  reads: StoreReads,
  id: string,
  collectMs: number,
): Promise<GenerationHistory | undefined> => {
  const record = await reads.findGeneration(id);
  const agreed = record && (await reads.planOf(record.seq));
  if (!record || !agreed) return undefined;
  const [events, transfers, attempts, writerOf] = await Promise.all([
    reads.eventsOf(record.seq),
    reads.transfersOf(record.seq),
    reads.attemptsOf(record.seq),
    readWriters(reads, record.seq),
  ]);
  const moved = transfers.map(({ atMs, kind, credits, from, to, attemptN }) => ({ atMs, kind, credits, from, to, attemptN }));
  const lines = events.map((line) => ({ ...toJsonRow(line), ...writerOf(line.version) }));
  const given = { createdAtMs: record.createdAtMs, collectMs, ...agreed, journal: lines, transfers: moved };
  return { record, given, attempts: attempts.map(toJsonRow) };
};
