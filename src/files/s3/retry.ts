// Patience of a command with a bucket: one that is away is asked again after some pauses, one that says no is not.
import { BucketFault } from "./errors.ts";

const PAUSES_MS = [1_000, 3_000, 10_000, 30_000] as const;

/** @throws what the work throws when it is no fault that passes, or does not pass. */
export const patiently = async <T>(work: () => Promise<T>, pause: (ms: number) => Promise<void>): Promise<T> => {
  for (let tries = 0; ; tries += 1)
    try {
      return await work();
    } catch (fault) {
      const ms = PAUSES_MS[tries];
      if (ms === undefined || !(fault instanceof BucketFault) || fault.kind !== "away") throw fault;
      await pause(ms);
    }
};
