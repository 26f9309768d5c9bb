// Holds downloaded results while storage is unavailable, to avoid downloading them again.
//
// A second download would fail if the links had expired in the meantime.

/**
 * An attempt that waits for storage retries every few seconds. A result that is not taken within this time belongs to an
 * abandoned attempt.
 */
const HELD_MS = 600_000;

export type PendingStoreBuffer<T> = {
  put(key: string, what: T): void;
  /** Removes and returns the result of a key; the caller owns it from then on. */
  take(key: string): T | undefined;
};

/** @param drop discards a result that was not taken in time */
export const createPendingStoreBuffer = <T>(drop: (what: T) => void, heldMs = HELD_MS): PendingStoreBuffer<T> => {
  const held = new Map<string, { what: T; timer: ReturnType<typeof setTimeout> }>();
  const take = (key: string): T | undefined => {
    const found = held.get(key);
    clearTimeout(found?.timer);
    held.delete(key);
    return found?.what;
  };
  return {
    take,
    put: (key, what) => {
      const late = () => {
        held.delete(key);
        drop(what);
      };
      // The timer does not keep the process alive. After an exit, the next process downloads the result again.
      const timer = setTimeout(late, heldMs);
      timer.unref();
      held.set(key, { what, timer });
    },
  };
};
