// Records in memory: what polls read of generations in flight or lately ended, bounded, always what is on disk.
import { seqOfGenerationId } from "./ids.ts";
import { Recent } from "./recent.ts";
import type { StoreReads } from "./store/store.ts";
import type { GenerationRecord } from "./terms.ts";

/** A key that made a generation, as the account it is of sent it. */
export type Asked = { idempotencyKey: string; bodyHash: string };

export type Records = {
  /** The generation if it is the account's and in memory. */
  recent(id: string, accountSeq: number): GenerationRecord | undefined;
  /** The generation that a key made, if it is in memory. */
  recentByKey(accountSeq: number, idempotencyKey: string): { record: GenerationRecord; bodyHash: string } | undefined;
  /** The generation if it is the account's; from memory, else from the store. */
  find(id: string, accountSeq: number): Promise<GenerationRecord | undefined>;
  /** The record of a step that is on disk now; `asked` with the first. */
  keep(record: GenerationRecord, asked?: Asked): void;
  drop(seq: number): void;
};

/** Enough for what is in flight and what ended within minutes; all others are one read of the store away. A record is 1 to 2 kB. */
const MOST_RECORDS = 4_000;

type Kept = { record: GenerationRecord; bodyHash: string | null };

/** @param most records kept at least; twice as many at most. */
export const openRecords = (reads: Pick<StoreReads, "generationById">, most = MOST_RECORDS): Records => {
  const bySeq = new Recent<number, Kept>(most);
  const byKey = new Recent<string, Kept>(most);
  const keyOf = (accountSeq: number, idempotencyKey: string) => `${accountSeq} ${idempotencyKey}`;
  const recent = (id: string, accountSeq: number) => {
    const seq = seqOfGenerationId(id);
    const known = seq === undefined ? undefined : bySeq.get(seq)?.record;
    // Somebody else's goes the way of one that there is not, so that the time it takes does not tell them apart.
    return known?.id === id && known.accountSeq === accountSeq ? known : undefined;
  };
  return {
    keep: (record, asked) => {
      const known = bySeq.get(record.seq);
      // Whoever finds it by its key finds the newest record too.
      if (known) known.record = record;
      else {
        const kept = { record, bodyHash: asked?.bodyHash ?? null };
        bySeq.set(record.seq, kept);
        if (asked) byKey.set(keyOf(record.accountSeq, asked.idempotencyKey), kept);
      }
    },
    drop: (seq) => bySeq.delete(seq),
    recent,
    recentByKey: (accountSeq, idempotencyKey) => {
      const kept = byKey.get(keyOf(accountSeq, idempotencyKey));
      // One that is no longer kept by its number is no longer told of its steps.
      return kept?.bodyHash && bySeq.get(kept.record.seq) === kept ? { record: kept.record, bodyHash: kept.bodyHash } : undefined;
    },
    find: async (id, accountSeq) => {
      const known = recent(id, accountSeq);
      if (known) return known;
      const read = await reads.generationById(id, accountSeq);
      // A step that was committed meanwhile is newer than what was read.
      if (read && !bySeq.has(read.seq)) bySeq.set(read.seq, { record: read, bodyHash: null });
      return read;
    },
  };
};
