// Provides the hidden key with which the playground submits for an account.
//
// Usage is recorded for this key separately. Its value is never returned, so that it cannot be used for authentication.
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Caller } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";

export type PlaygroundKeyDeps = {
  reads: Pick<StoreReads, "account" | "consoleCaller">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Pick<Clock, "nowMs">;
};

/** Creates the key on first use. */
export const createPlaygroundKeys =
  ({ reads, post, clock }: PlaygroundKeyDeps) =>
  async (accountId: string): Promise<Caller> => {
    const account = await reads.account(accountId);
    if (!account) throw new Error(`there is no account ${accountId}`);
    const known = await reads.consoleCaller(account.seq);
    if (known) return known;
    await post({ mutation: "make-console-key", accountSeq: account.seq, id: newId("key"), atMs: clock.nowMs() });
    const made = await reads.consoleCaller(account.seq);
    if (!made) throw new Error("the key of the playground was not made");
    return made;
  };
