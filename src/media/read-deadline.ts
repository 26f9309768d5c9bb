// Limits the reading time of a request, and its total time including queueing.
//
// The reading time does not run while the request waits in a queue.

export type ReadingClock = {
  /** Aborted when either limit is exceeded. */
  readonly signal: AbortSignal;
  /** The limit that was exceeded. */
  over(): "reading" | "waiting" | undefined;
  /** The reading time runs during `work`; several calls may overlap. */
  during<T>(work: () => Promise<T>): Promise<T>;
  stop(): void;
};

/**
 * @param readMs limit of the reading time
 * @param waitMs additional time for waiting in a queue
 */
export const createReadDeadline = (readMs: number, waitMs: number): ReadingClock => {
  const end = new AbortController();
  let isOver: "reading" | "waiting" | undefined;
  let atWork = 0;
  let leftMs = readMs;
  let begunMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const finish = (why: "reading" | "waiting") => () => {
    isOver ??= why;
    end.abort();
  };
  const all = setTimeout(finish("waiting"), readMs + waitMs);
  const pause = () => {
    atWork -= 1;
    if (atWork > 0) return;
    clearTimeout(timer);
    leftMs -= performance.now() - begunMs;
  };
  return {
    signal: end.signal,
    over: () => isOver,
    during: (work) => {
      if (atWork === 0) {
        begunMs = performance.now();
        timer = setTimeout(finish("reading"), Math.max(0, leftMs));
      }
      atWork += 1;
      return work().finally(pause);
    },
    stop: () => {
      clearTimeout(all);
      clearTimeout(timer);
      end.abort();
    },
  };
};
