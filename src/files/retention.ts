// Deletes the files of generations whose retention is over, a few at a time.

export type SweepOptions = {
  /** Generations whose files are past their retention, oldest first, at most `limit`. */
  expired: (limit: number) => Promise<readonly { seq: number; id: string }[]>;
  /** Deletes every file of a generation; fine when there are none. */
  remove: (id: string) => Promise<void>;
  /** Writes down that they are gone; false when it could not be written now. */
  mark: (seq: number) => Promise<boolean>;
  batch?: number;
  signal?: AbortSignal;
};

const BATCH = 50;

/**
 * Sweeps until nothing is past its retention, or something refuses; then the next sweep goes on. Returns how many
 * generations were swept.
 *
 * Files first, row second: after a crash between the two the row still counts as due and is swept again, where deleting
 * nothing is fine. The other order would leave files that no row leads to. Meanwhile a request finds no file and answers
 * 404, as it does once the row is marked. A download under way keeps its open file, but for one that asked for several ranges: that
 * one breaks off.
 * @throws what `expired` or `remove` throws: the disk refused, the next sweep tries again.
 */
export const sweepFiles = async ({ expired, remove, mark, batch = BATCH, signal }: SweepOptions): Promise<number> => {
  let swept = 0;
  for (;;) {
    const due = await expired(batch);
    for (const { seq, id } of due) {
      if (signal?.aborted) return swept;
      await remove(id);
      if (!(await mark(seq))) return swept;
      swept++;
    }
    if (due.length < batch) return swept;
  }
};
