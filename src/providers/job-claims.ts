// Job claims: the first attempt of each job, in memory until the commit.

/** Many times the number of jobs between a response and its commit. */
const MAX_CLAIMS = 5_000;

/**
 * Two attempts with the same input are identical on a provider's list. Without claims, a lookup for one could take a job whose
 * acceptance another attempt is about to store. The two would then conflict in the store.
 */
export interface Claims {
  /** Claims the job for the attempt. Returns false if another attempt claimed it first. */
  take(providerId: string, jobId: string, ref: string): boolean;
  holder(providerId: string, jobId: string): string | undefined;
}

export const createJobClaims = (most = MAX_CLAIMS): Claims => {
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
