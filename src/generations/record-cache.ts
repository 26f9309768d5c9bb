// Bounded cache of generation records for polls; it always equals the stored rows.

import { ClockCache } from "../collections/clock-cache.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { CachedRecord, GenerationRecord } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";

export type RecordCache = {
  /** Returns the cached generation if it belongs to the account. */
  recent(id: string, accountSeq: number): CachedRecord | undefined;
  /** Returns the generation from the cache, else from the store, if it belongs to the account. */
  find(id: string, accountSeq: number): Promise<GenerationRecord | undefined>;
  /** Returns the cached generation with this row number. */
  newest(seq: number): GenerationRecord | undefined;
  /** Stores the record of a committed transition, unless another node could change it. */
  keep(record: GenerationRecord): void;
  drop(seq: number): void;
};

/**
 * Minimum number of cached records. It covers running generations and those that ended within minutes; a record has 1 to 2 kB.
 */
const MAX_RECORDS = 4_000;

/**
 * @param isAlone true if no other process writes, so that a read row stays current. @param isSure whether no other node can have
 * taken over; without it the cache may be behind the store and is not used. @param most minimum number of records; the maximum is
 * twice as many.
 */
export const createRecordCache = (
  reads: Pick<StoreReads, "generationById">,
  isAlone = true,
  isSure: () => boolean = () => true,
  most = MAX_RECORDS,
): RecordCache => {
  const bySeq = new ClockCache<number, CachedRecord>(most);
  const keep = (record: GenerationRecord): void => {
    // After the end, any node can erase the generation.
    if (isAlone || record.completedAtMs === null) bySeq.set(record.seq, { record, shown: null });
    else bySeq.delete(record.seq);
  };
  const recent = (id: string, accountSeq: number) => {
    const seq = seqOfGenerationId(id);
    const known = seq === undefined || !isSure() ? undefined : bySeq.get(seq);
    // A generation of another account takes the path of an unknown one, so that response times do not reveal it.
    return known?.record.id === id && known.record.accountSeq === accountSeq ? known : undefined;
  };
  return {
    keep,
    drop: (seq) => bySeq.delete(seq),
    recent,
    newest: (seq) => (isSure() ? bySeq.get(seq)?.record : undefined),
    find: async (id, accountSeq) => {
      const known = recent(id, accountSeq);
      if (known) return known.record;
      const read = await reads.generationById(id, accountSeq);
      // A transition that was committed meanwhile is newer than the read row.
      if (isAlone && read && !bySeq.has(read.seq)) keep(read);
      return read;
    },
  };
};
