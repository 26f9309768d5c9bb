// What has been fetched whole and could not be kept for now: held, so that nothing is fetched again and no link runs out meanwhile.

/** Who waits for our storage comes every few seconds; what nobody has come for in this time was given up. */
const HELD_MS = 600_000;

export type PendingStoreBuffer<T> = {
  put(key: string, what: T): void;
  /** What is held under a key; it is its taker's then. */
  take(key: string): T | undefined;
};

/** @param drop lets go of what nobody came for */
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
      // Nobody stays for it: a process that ends leaves it to be fetched by the next one.
      const timer = setTimeout(late, heldMs);
      timer.unref();
      held.set(key, { what, timer });
    },
  };
};
