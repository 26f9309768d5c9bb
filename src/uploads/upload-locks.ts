// Locks of resumable uploads: one request at a time appends to an upload.
//
// Within a process a map decides. A request whose client has sent nothing for some seconds is interrupted by the next one, because
// its connection is probably dead; the bytes that it received are kept. Nodes that share a database also take the lock of the row.
// Arriving bytes and running work renew it, so it expires soon after a connection or a node is dead. Each write to the upload is
// conditional on the lock, so a request that lost it appends nothing.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import { within } from "./time-limits.ts";

export type UploadLock = {
  id: string;
  /** The end of the row's lock if the request writes nothing further. */
  untilMs: () => number;
  /** Runs work of the service. The request is not interrupted meanwhile, and its client need not send anything. */
  during: <T>(work: () => Promise<T>) => Promise<T>;
  /** Runs the completion like `during`. Further requests of this process wait for its end. */
  completing: <T>(work: () => Promise<T>) => Promise<T>;
  /** Aborted when another request takes over from this one. */
  signal: AbortSignal;
  /** Notes that the client has sent bytes. */
  seen: () => void;
};

export type UploadLocksDeps = {
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Pick<Clock, "nowMs" | "after">;
  /** Whether other nodes use the same store. */
  shared: boolean;
};

/** Time without a byte from the client after which another request may interrupt, ms. */
const IDLE_MS = 5_000;
/** Least time between two renewals of the row's lock, ms. */
const RENEWAL_MS = 2_000;
/** Duration of the row's lock: a renewal may be as old as the least time between two when the last byte arrives. */
const LOCK_MS = IDLE_MS + RENEWAL_MS;
/** Time for which a request waits for the completion that another one runs, ms. */
const COMPLETION_WAIT_MS = 30_000;

/** @throws ApiError `concurrency_limit` with the status 423 */
export const refuseLocked = (): never =>
  refuse("concurrency_limit", "Another request is appending to the upload; send this one when the other has ended.", {
    status: 423,
  });

/** How long a client has sent nothing. Time in which the service works is left out. */
const createIdleTime = (nowMs: () => number) => {
  let seenAtMs = nowMs();
  let workedSinceMs: number | null = null;
  return {
    ms: (): number => (workedSinceMs ?? nowMs()) - seenAtMs,
    seen: (): void => {
      seenAtMs = nowMs();
    },
    beginWork: (): void => {
      workedSinceMs = nowMs();
    },
    endWork: (): void => {
      seenAtMs += nowMs() - (workedSinceMs ?? nowMs());
      workedSinceMs = null;
    },
  };
};

type IdleTime = ReturnType<typeof createIdleTime>;
type Holder = { idle: IdleTime; interruption: AbortController; ended: Promise<void>; isCompleting: boolean };

/** Takes the row's lock and renews it. A single process needs no lock that outlives it, so the lock ends at once there. */
const createRowLock = (
  { post, clock, shared }: UploadLocksDeps,
  { uploadId, holder: { idle, interruption } }: { uploadId: string; holder: Holder },
) => {
  const lockId = newId("lock");
  const untilMs = (): number => clock.nowMs() + (shared ? LOCK_MS - idle.ms() : 0);
  const lock = () => ({ mutation: "lock-resumable-upload", uploadId, lockId, atMs: clock.nowMs(), untilMs: untilMs() }) as const;
  let renewedAtMs = clock.nowMs();
  let renewal: Promise<void> | undefined;
  const renew = async (): Promise<void> => {
    // A renewal that the store cannot write is no loss of the lock; the next write decides.
    const renewed = await post({ ...lock(), isHeld: true }).catch(() => undefined);
    if (renewed?.kind === "gone") interruption.abort();
    renewal = undefined;
  };
  return {
    lockId,
    untilMs,
    take: async (): Promise<void> => void ((await post(lock())).kind === "locked" || refuseLocked()),
    renewSometimes: (): void => {
      if (!shared || renewal || clock.nowMs() - renewedAtMs < RENEWAL_MS) return;
      renewedAtMs = clock.nowMs();
      renewal = renew();
    },
    release: async (): Promise<void> => {
      if (!shared) return;
      await renewal;
      // A lock that stays expires by itself.
      await post({ mutation: "unlock-resumable-upload", uploadId, lockId }).catch(() => undefined);
    },
  };
};

export const createUploadLocks = (deps: UploadLocksDeps) => {
  const { clock } = deps;
  const held = new Map<string, Holder>();
  /** Waits for a request that receives nothing, or that completes the upload. @throws ApiError 423 if the request is active */
  const interrupt = async (uploadId: string): Promise<void> => {
    const holder = held.get(uploadId);
    if (!holder) return;
    if (holder.isCompleting) await within(clock, holder.ended, COMPLETION_WAIT_MS);
    else if (holder.idle.ms() < IDLE_MS) refuseLocked();
    else {
      holder.interruption.abort();
      await holder.ended;
    }
    if (held.has(uploadId)) refuseLocked();
  };

  /** Runs `work` with the lock. @throws ApiError `concurrency_limit` with the status 423 if another request holds it */
  return async <T>(uploadId: string, work: (lock: UploadLock) => Promise<T>): Promise<T> => {
    await interrupt(uploadId);
    const interruption = new AbortController();
    const { promise: ended, resolve: release } = Promise.withResolvers<void>();
    const idle = createIdleTime(clock.nowMs);
    const holder: Holder = { idle, interruption, ended, isCompleting: false };
    held.set(uploadId, holder);
    const row = createRowLock(deps, { uploadId, holder });
    const during: UploadLock["during"] = async (task) => {
      let takeBack = () => {};
      const renewAgain = () => {
        row.renewSometimes();
        takeBack = clock.after(RENEWAL_MS, renewAgain);
      };
      idle.beginWork();
      renewAgain();
      try {
        return await task();
      } finally {
        takeBack();
        idle.endWork();
      }
    };
    const completing: UploadLock["completing"] = async (task) => {
      holder.isCompleting = true;
      return during(task);
    };
    const seen = () => {
      idle.seen();
      row.renewSometimes();
    };
    try {
      await row.take();
      return await work({ id: row.lockId, untilMs: row.untilMs, during, completing, signal: interruption.signal, seen });
    } finally {
      await row.release();
      held.delete(uploadId);
      release();
    }
  };
};
