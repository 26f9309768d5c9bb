// Retries bucket operations of commands while the bucket is unavailable.
//
// A refusal is not retried.
import { BucketError } from "./errors.ts";

const PAUSES_MS = [1_000, 3_000, 10_000, 30_000] as const;

/** @throws the error of the work if it is not temporary, or if it persists after all retries */
export const patiently = async <T>(work: () => Promise<T>, pause: (ms: number) => Promise<void>): Promise<T> => {
  for (let tries = 0; ; tries += 1)
    try {
      return await work();
    } catch (fault) {
      const ms = PAUSES_MS[tries];
      if (ms === undefined || !(fault instanceof BucketError) || fault.kind !== "unavailable") throw fault;
      await pause(ms);
    }
};
