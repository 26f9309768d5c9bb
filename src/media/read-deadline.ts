// The time that a request may take to be read, which does not run while it stands in line, and the time that it may take in all.

export type ReadingClock = {
  /** Aborted when either time is over. */
  readonly signal: AbortSignal;
  /** Which one it was. */
  over(): "reading" | "waiting" | undefined;
  /** The time of reading runs during this work; several may be under way. */
  during<T>(work: () => Promise<T>): Promise<T>;
  stop(): void;
};

/** @param readMs the time of reading, @param waitMs what may come on top of it in line */
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
