// Deletes files past their retention, unused pinned inputs, expired uploads and old spool files.
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Spool } from "../files/inline-spool.ts";
import type { Copies } from "../files/input-copies.ts";
import type { OutcomeSpool } from "../files/outcome-spool.ts";
import type { Files } from "../files/port.ts";
import { sweepFiles } from "../files/retention.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import { createUploadSweeper, type UploadSweeperDeps } from "../uploads/sweep-uploads.ts";
import { ANY_AGE_MS, type FileRemoval } from "./file-removal.ts";

export type FileSweeperDeps = {
  clock: Clock;
  log: Log;
  store: Pick<StoreReads, "expiredFiles" | "spentPins" | "pinsOf" | "generationBySeq"> & UploadSweeperDeps["reads"];
  files: Pick<Files, "remove">;
  spool: Pick<Spool, "sweep">;
  outcomes?: Pick<OutcomeSpool, "sweep"> | undefined;
  copies: Pick<Copies, "remove" | "sweep">;
  uploads: Pick<Files, "remove">;
  uploadParts: Pick<Files, "remove">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  removal: Pick<FileRemoval, "sweep">;
  /** Whether this node sweeps the shared files of the cluster. */
  isFirst: () => boolean;
};

/** Age in milliseconds after which a spooled inline result is no longer needed. */
const SPOOL_KEPT_MS = 3_600_000;

/** Creates the function that runs one sweep. */
export const createFileSweeper = ({
  clock,
  log,
  store,
  files,
  spool,
  outcomes,
  copies,
  uploads,
  uploadParts,
  post,
  removal,
  isFirst,
}: FileSweeperDeps): (() => Promise<void>) => {
  /** With a bucket, a sweep may take longer than the interval. */
  let isSweeping = false;

  const results = () =>
    sweepFiles({
      expired: (limit) => store.expiredFiles(clock.nowMs(), limit),
      remove: (id) => files.remove(id),
      mark: async (seq) => (await post({ mutation: "expire-files", seq, atMs: clock.nowMs() })).kind === "done",
    });
  const removeCopies = async (id: string): Promise<void> => {
    const seq = seqOfGenerationId(id);
    const pins = seq === undefined ? [] : await store.pinsOf(seq);
    const numbers = pins.map(({ n }) => n);
    await copies.remove(id, numbers);
  };
  const inputs = () =>
    sweepFiles({
      expired: (limit) => store.spentPins(limit),
      remove: removeCopies,
      mark: async (seq) => (await post({ mutation: "drop-pins", seq, atMs: clock.nowMs() })).kind === "done",
    });

  const sweepUploads = createUploadSweeper({ reads: store, post, clock, storage: uploads, parts: uploadParts });

  const generationOf = async (id: string) => {
    const seq = seqOfGenerationId(id);
    return seq === undefined ? undefined : store.generationBySeq(seq);
  };
  const isOver = async (id: string): Promise<boolean> => {
    const made = await generationOf(id);
    return made === undefined || made.completedAtMs !== null;
  };
  const isErased = async (id: string): Promise<boolean> => ((await generationOf(id))?.erasedAtMs ?? null) !== null;

  return async () => {
    if (isSweeping) return;
    if (isFirst()) {
      isSweeping = true;
      try {
        await removal.sweep();
        const count = await results();
        if (count > 0) log("expired files deleted", { count });
        await inputs();
        const expired = await sweepUploads();
        if (expired > 0) log("expired uploads deleted", { count: expired });
      } finally {
        isSweeping = false;
      }
    }
    // The spool and the files fetched for providers belong to each node.
    await spool.sweep(SPOOL_KEPT_MS, isOver);
    await outcomes?.sweep(SPOOL_KEPT_MS, isOver);
    // Another node may have erased the generation.
    await spool.sweep(ANY_AGE_MS, isErased);
    await outcomes?.sweep(ANY_AGE_MS, isErased);
    await copies.sweep(isOver);
  };
};
