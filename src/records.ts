// Records in memory: what polls read of generations in flight or lately ended, bounded, always what is on disk.
import { seqOfGenerationId } from "./ids.ts";
import type { StoreReads } from "./store/store.ts";
import type { GenerationRecord } from "./terms.ts";

export type Records = {
  /** The generation if it is the account's; from memory, else from the store. */
  find(id: string, accountSeq: number): Promise<GenerationRecord | undefined>;
  /** The record of a step that is on disk now. */
  keep(record: GenerationRecord): void;
  drop(seq: number): void;
};

/** Enough for what is in flight and what ended within minutes; all others are one read of the store away. A record is 1 to 2 kB. */
const MOST_RECORDS = 8_000;

/** @param most records kept; the least lately used go first. */
export const openRecords = (reads: Pick<StoreReads, "generationById">, most = MOST_RECORDS): Records => {
  const bySeq = new Map<number, GenerationRecord>();
  const keep = (record: GenerationRecord) => {
    bySeq.delete(record.seq);
    bySeq.set(record.seq, record);
    if (bySeq.size > most) {
      const oldest = bySeq.keys().next();
      if (!oldest.done) bySeq.delete(oldest.value);
    }
  };
  return {
    keep,
    drop: (seq) => void bySeq.delete(seq),
    find: async (id, accountSeq) => {
      const seq = seqOfGenerationId(id);
      const known = seq === undefined ? undefined : bySeq.get(seq);
      // Somebody else's goes the way of one that there is not, so that the time it takes does not tell them apart.
      if (known?.id === id && known.accountSeq === accountSeq) {
        keep(known);
        return known;
      }
      const read = await reads.generationById(id, accountSeq);
      // A step that was committed meanwhile is newer than what was read.
      if (read && !bySeq.has(read.seq)) keep(read);
      return read;
    },
  };
};
