// Deletes the files of generations whose retention has expired, in batches.

export type SweepOptions = {
  /** Generations whose files are past their retention, oldest first, at most `limit`. */
  expired: (limit: number) => Promise<readonly { seq: number; id: string }[]>;
  /** Deletes every file of a generation; succeeds if there are none. */
  remove: (id: string) => Promise<void>;
  /** Records that the files are deleted; false if the record could not be written now. */
  mark: (seq: number) => Promise<boolean>;
  batch?: number;
  signal?: AbortSignal;
};

const BATCH = 50;

/**
 * Deletes files until none is past its retention or an error occurs; the next sweep continues. Returns the number of swept
 * generations.
 *
 * Files are deleted before the row is marked. After a crash between the two, the row is still due and is swept again; deleting
 * missing files succeeds. The opposite order would leave files that no row refers to. In between, a request finds no file and
 * returns 404, as it does after the row is marked. A running download keeps its open file, except for a request of several
 * ranges, which breaks off.
 * @throws the errors of `expired` or `remove`; the next sweep retries
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
