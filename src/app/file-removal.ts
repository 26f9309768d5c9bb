// Deletes the files of an erased generation: results, copies of its inputs, and what providers answered.
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Spool } from "../files/inline-spool.ts";
import type { Copies } from "../files/input-copies.ts";
import type { OutcomeSpool } from "../files/outcome-spool.ts";
import type { Files } from "../files/port.ts";
import type { StoreReads } from "../store/store.ts";

export type FileRemovalDeps = {
  clock: Pick<Clock, "nowMs">;
  store: Pick<StoreReads, "pinsOf" | "pendingFileRemovals" | "isFileRemovalPending">;
  files: Pick<Files, "remove">;
  spool: Pick<Spool, "sweep">;
  outcomes?: Pick<OutcomeSpool, "sweep"> | undefined;
  copies: Pick<Copies, "remove">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
};
export type FileRemoval = {
  /** Deletes the files of an erased generation, unless another one still takes a result of it as an input. */
  remove: (generation: { seq: number; id: string }) => Promise<void>;
  /** Deletes the files of all erased generations that are left, and continues where an earlier process ended. */
  sweep: () => Promise<void>;
};

/** Files of any age. */
export const ANY_AGE_MS = Number.NEGATIVE_INFINITY;
const BATCH = 50;

/**
 * The files are deleted before the row that asks for it. After a crash between the two, the deletion is repeated, and deleting
 * missing files succeeds.
 */
export const createFileRemoval = ({ clock, store, files, spool, outcomes, copies, post }: FileRemovalDeps): FileRemoval => {
  const removeAll = async ({ seq, id }: { seq: number; id: string }): Promise<void> => {
    const isOfIt = async (owner: string) => owner === id;
    await files.remove(id);
    const pins = await store.pinsOf(seq);
    if (pins.length > 0) {
      await copies.remove(
        id,
        pins.map(({ n }) => n),
      );
      await post({ mutation: "drop-pins", seq, atMs: clock.nowMs() });
    }
    await spool.sweep(ANY_AGE_MS, isOfIt);
    await outcomes?.sweep(ANY_AGE_MS, isOfIt);
    await post({ mutation: "finish-file-removal", seq });
  };
  return {
    remove: async (generation) => {
      if (await store.isFileRemovalPending(generation.seq)) await removeAll(generation);
    },
    sweep: async () => {
      for (;;) {
        const pending = await store.pendingFileRemovals(BATCH);
        for (const generation of pending) await removeAll(generation);
        if (pending.length < BATCH) return;
      }
    },
  };
};
