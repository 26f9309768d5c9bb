// Which attempt a job was first given to, kept in memory for the moments until the store knows it.

/** Enough for every job of the time between an answer and its commit, many times over. */
const MOST_CLAIMS = 5_000;

/**
 * Two attempts with the same input cannot be told apart on a provider's list. Without this, a look-up for one could take
 * the job whose acceptance another is about to write down, and the two would collide in the store.
 */
export interface Claims {
  /** Gives the job to the attempt, unless another had it first; says whether it is this attempt's. */
  take(providerId: string, jobId: string, ref: string): boolean;
  holder(providerId: string, jobId: string): string | undefined;
}

export const createJobClaims = (most = MOST_CLAIMS): Claims => {
  const holders = new Map<string, string>();
  const nameOf = (providerId: string, jobId: string) => `${providerId} ${jobId}`;
  return {
    take(providerId, jobId, ref) {
      const name = nameOf(providerId, jobId);
      const holder = holders.get(name);
      if (holder !== undefined) return holder === ref;
      holders.set(name, ref);
      const [oldest] = holders.keys();
      if (holders.size > most && oldest !== undefined) holders.delete(oldest);
      return true;
    },
    holder: (providerId, jobId) => holders.get(nameOf(providerId, jobId)),
  };
};
