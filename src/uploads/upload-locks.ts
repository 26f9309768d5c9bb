// Locks of resumable uploads: one request at a time appends to an upload.
//
// Within a process a map decides. A request whose client has sent nothing for some seconds is interrupted by the next one, because
// its connection is probably dead; the bytes that it received are kept. Nodes that share a database also take the lock of the row, which expires if its node dies; each
// write to the upload is conditional on it, so a request that lost the lock appends nothing.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";

export type UploadLock = {
  id: string;
  /** The end of the row's lock if the request writes nothing further. */
  untilMs: () => number;
  /** Holds the lock of the row for so long. The request is not interrupted in this time. @throws ApiError 423 if another request has taken it */
  prolong: (ms: number) => Promise<void>;
  /** Aborted when another request takes over from this one, whose client sends nothing. */
  signal: AbortSignal;
  /** Notes that the client has sent bytes. */
  seen: () => void;
};
type Holder = { seenAtMs: number; interruption: AbortController; ended: Promise<void> };

export type UploadLocksDeps = {
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Pick<Clock, "nowMs">;
  /** Whether other nodes use the same store. */
  shared: boolean;
};

/** Duration of the row's lock after each write, ms. A part ends after 10 s. */
const LOCK_MS = 30_000;

/** Time without a byte from the client after which another request may interrupt, ms. */
const IDLE_MS = 5_000;

/** @throws ApiError `concurrency_limit` with the status 423 */
export const refuseLocked = (): never =>
  refuse("concurrency_limit", "Another request is appending to the upload; send this one when the other has ended.", {
    status: 423,
  });

export const createUploadLocks = ({ post, clock, shared }: UploadLocksDeps) => {
  const held = new Map<string, Holder>();
  /** Waits for a request that receives nothing. @throws ApiError 423 if the request is active */
  const interrupt = async (uploadId: string): Promise<void> => {
    const holder = held.get(uploadId);
    if (!holder) return;
    if (clock.nowMs() - holder.seenAtMs < IDLE_MS) refuseLocked();
    holder.interruption.abort();
    await holder.ended;
    if (held.has(uploadId)) refuseLocked();
  };
  // A single process needs no lock that outlives it, so the lock of the row ends at once.
  const after = (ms: number): number => clock.nowMs() + (shared ? ms : 0);

  /** Runs `work` with the lock. @throws ApiError `concurrency_limit` with the status 423 if another request holds it */
  return async <T>(uploadId: string, work: (lock: UploadLock) => Promise<T>): Promise<T> => {
    await interrupt(uploadId);
    const interruption = new AbortController();
    const { promise: ended, resolve: release } = Promise.withResolvers<void>();
    const holder: Holder = { seenAtMs: clock.nowMs(), interruption, ended };
    held.set(uploadId, holder);
    const lockId = newId("lock");
    const prolong = async (ms: number): Promise<void> => {
      const lock = { mutation: "lock-resumable-upload", uploadId, lockId, atMs: clock.nowMs(), untilMs: after(ms) } as const;
      if ((await post(lock)).kind !== "locked") refuseLocked();
      holder.seenAtMs = clock.nowMs() + ms - LOCK_MS;
    };
    try {
      await prolong(LOCK_MS);
      const seen = () => {
        holder.seenAtMs = clock.nowMs();
      };
      return await work({ id: lockId, untilMs: () => after(LOCK_MS), prolong, signal: interruption.signal, seen });
    } finally {
      // A lock that stays expires by itself.
      if (shared) await post({ mutation: "unlock-resumable-upload", uploadId, lockId }).catch(() => undefined);
      held.delete(uploadId);
      release();
    }
  };
};
