// Bulkheads: a bounded number of calls in flight per provider, so that one that hangs cannot take the others' connections.

/** Gives a slot back; calling it again does nothing. */
export type Release = () => void;

export interface Bulkhead {
  /**
   * Waits in line for a slot, first come first served. Rejects with the signal's reason when given up while waiting, or
   * after `patienceMs` in line.
   */
  take(signal: AbortSignal, patienceMs?: number): Promise<Release>;
  /** Slots in use and callers in line. */
  readonly inUse: number;
  readonly waiting: number;
}

/** A pool of `slots` slots. Giving up a place in line costs the same however long the line is. */
export const createBulkhead = (slots: number): Bulkhead => {
  // A Set keeps the order of arrival and forgets a member in constant time.
  const line = new Set<() => void>();
  let inUse = 0;

  const release = (): Release => {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = line.values().next().value;
      if (next === undefined) inUse--;
      // The slot goes from hand to hand: a newcomer cannot slip in before the one who waited.
      else next();
    };
  };

  return {
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
