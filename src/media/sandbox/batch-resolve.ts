// Lets those who have their answer go on together: what they write next shares a commit, which costs as much for one as for many.

export type Groups = {
  /** Resolves with the others of its group. */
  join(): Promise<void>;
  /** The group goes on as it is. */
  release(): void;
};

/** @param most in a group; @param longestMs that the first of a group waits for company */
export const createBatchResolve = ({ most, longestMs }: { most: number; longestMs: number }): Groups => {
  let waiting: (() => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const release = () => {
    clearTimeout(timer);
    timer = undefined;
    const group = waiting;
    waiting = [];
    for (const goOn of group) goOn();
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
