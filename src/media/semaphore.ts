// Bounds concurrent work and queues callers in order of arrival.
//
// One slow server can therefore not occupy every socket.

export type Pool = {
  /** Waits for a place. Resolves to the function that releases it, or to undefined if the signal aborts the wait. */
  take(signal: AbortSignal): Promise<(() => void) | undefined>;
};

export const createSemaphore = (places: number): Pool => {
  let free = places;
  const line: (() => void)[] = [];
  const leave = () => {
    const next = line.shift();
    if (next) next();
    else free++;
  };
  const once = (work: () => void) => {
    let isDone = false;
    return () => {
      if (isDone) return;
      isDone = true;
      work();
    };
  };
  return {
    take: (signal) =>
      new Promise((fulfil) => {
        if (signal.aborted) return fulfil(undefined);
        if (free > 0) {
          free--;
          return fulfil(once(leave));
        }
        const enter = () => {
          signal.removeEventListener("abort", giveUp);
          fulfil(once(leave));
        };
        const giveUp = () => {
          const at = line.indexOf(enter);
          if (at !== -1) line.splice(at, 1);
          fulfil(undefined);
        };
        signal.addEventListener("abort", giveUp, { once: true });
        line.push(enter);
      }),
  };
};
