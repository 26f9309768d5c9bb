// Bulkhead: bounds the concurrent calls to one provider.
//
// A provider that does not respond cannot use the connections of the other providers.

/** Returns the slot to the bulkhead. A second call has no effect. */
export type Release = () => void;

export interface Bulkhead {
  /**
   * Acquires a slot, first come first served. Rejects with the signal's reason if the signal is aborted while the caller waits.
   * Rejects with an Error after `patienceMs` in the queue.
   */
  take(signal: AbortSignal, patienceMs?: number): Promise<Release>;
  /** Acquires a slot if one is free now and no caller waits; otherwise null. */
  tryTake(): Release | null;
  /** Slots in use and callers in the queue. */
  readonly inUse: number;
  readonly waiting: number;
}

/** Creates a bulkhead of `slots` slots. Leaving the queue takes constant time at every queue length. */
export const createBulkhead = (slots: number): Bulkhead => {
  // A Set keeps insertion order and deletes a member in constant time.
  const line = new Set<() => void>();
  let inUse = 0;

  const release = (): Release => {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = line.values().next().value;
      if (next === undefined) inUse--;
      // The slot passes directly to the next waiter, so a new caller cannot overtake the queue.
      else next();
    };
  };

  return {
    tryTake() {
      if (inUse >= slots) return null;
      inUse++;
      return release();
    },
    take(signal, patienceMs) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (inUse < slots) {
        inUse++;
        return Promise.resolve(release());
      }
      return new Promise((resolve, reject) => {
        let timer: ReturnType<typeof setTimeout> | undefined;
        const leave = () => {
          line.delete(enter);
          clearTimeout(timer);
          signal.removeEventListener("abort", giveUp);
        };
        const enter = () => {
          leave();
          resolve(release());
        };
        const giveUp = () => {
          leave();
          reject(signal.aborted ? signal.reason : new Error(`no slot within ${patienceMs} ms`));
        };
        line.add(enter);
        signal.addEventListener("abort", giveUp, { once: true });
        if (patienceMs !== undefined) timer = setTimeout(giveUp, patienceMs);
      });
    },
    get inUse() {
      return inUse;
    },
    get waiting() {
      return line.size;
    },
  };
};
