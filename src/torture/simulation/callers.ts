// Callers of a simulated world: the keys of its accounts.
import type { Caller } from "../../domain/types.ts";

/** The caller with the key of an account. */
export const callerOf = (accountSeqs: readonly number[], account: number): Caller => ({
  ...{ keySeq: account + 1, keyId: `key_${account}`, scope: "generate", paused: false },
  accountSeq: accountSeqs[account] ?? 0,
  accountId: `acc_${account}`,
  ...{ expiresAtMs: null, models: null, isLimited: false, burstPerS: null, inProgressLimit: null },
});
