// Resolves waiting callers in batches, so that their next writes share one commit.
//
// A commit costs as much for one write as for many.

export type Groups = {
  /** Resolves together with the other callers of the batch. */
  join(): Promise<void>;
  /** Resolves the current batch immediately. */
  release(): void;
};

/**
 * @param most maximum size of a batch
 * @param longestMs maximum time that the first caller of a batch waits, ms
 */
export const createBatchResolve = ({ most, longestMs }: { most: number; longestMs: number }): Groups => {
  let waiting: (() => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const release = () => {
    clearTimeout(timer);
    timer = undefined;
    const group = waiting;
    waiting = [];
    for (const fulfil of group) fulfil();
  };
  return {
    release,
    join: () =>
      new Promise((fulfil) => {
        waiting.push(fulfil);
        if (waiting.length >= most) release();
        else timer ??= setTimeout(release, longestMs);
      }),
  };
};
