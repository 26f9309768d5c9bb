// Records in memory: what polls read of generations in flight or lately ended, bounded, always what is on disk.

import { ClockCache } from "../collections/clock-cache.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { CachedRecord, GenerationRecord } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";

export type Records = {
  /** The generation if it is the account's and in memory. */
  recent(id: string, accountSeq: number): CachedRecord | undefined;
  /** The generation if it is the account's; from memory, else from the store. */
  find(id: string, accountSeq: number): Promise<GenerationRecord | undefined>;
  /** The record of a step that is on disk now. */
  keep(record: GenerationRecord): void;
  drop(seq: number): void;
};

/** Enough for what is in flight and what ended within minutes; all others are one read of the store away. A record is 1 to 2 kB. */
const MOST_RECORDS = 4_000;

/**
 * @param isAlone nobody else writes: what was read stays so until it is written here. @param isSure whether nobody can have taken over what
 * this node wrote: without it memory may be behind the store, and is not asked. @param most records kept at least; twice as many at most.
 */
export const createRecordCache = (
  reads: Pick<StoreReads, "generationById">,
  isAlone = true,
  isSure: () => boolean = () => true,
  most = MOST_RECORDS,
): Records => {
  const bySeq = new ClockCache<number, CachedRecord>(most);
  const keep = (record: GenerationRecord) => bySeq.set(record.seq, { record, shown: null });
  const recent = (id: string, accountSeq: number) => {
    const seq = seqOfGenerationId(id);
    const known = seq === undefined || !isSure() ? undefined : bySeq.get(seq);
    // Somebody else's goes the way of one that there is not, so that the time it takes does not tell them apart.
    return known?.record.id === id && known.record.accountSeq === accountSeq ? known : undefined;
  };
  return {
    keep,
    drop: (seq) => bySeq.delete(seq),
    recent,
    find: async (id, accountSeq) => {
      const known = recent(id, accountSeq);
      if (known) return known.record;
      const read = await reads.generationById(id, accountSeq);
      // A step that was committed meanwhile is newer than what was read.
      if (isAlone && read && !bySeq.has(read.seq)) keep(read);
      return read;
    },
  };
};
