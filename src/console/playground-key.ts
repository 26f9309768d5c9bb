// As who the playground makes generations of an account: a key of its own, so that usage tells them apart, which nobody holds and nothing opens.
import type { Clock } from "../clock.ts";
import type { Deed, OutcomeOf } from "../deeds.ts";
import { hashApiKey, newId } from "../ids.ts";
import type { StoreReads } from "../store/store.ts";
import type { Caller } from "../terms.ts";

export type PlaygroundKeyParts = {
  reads: Pick<StoreReads, "account" | "callerByKeyHash">;
  post: <D extends Deed>(deed: D) => Promise<OutcomeOf<D>>;
  clock: Pick<Clock, "nowMs">;
};

export const openPlaygroundKeys =
  ({ reads, post, clock }: PlaygroundKeyParts) =>
  async (accountId: string): Promise<Caller> => {
    // The hash of what is no key: nothing that is sent to the API has it.
    const hash = hashApiKey(`playground of ${accountId}`);
    const known = await reads.callerByKeyHash(hash);
    if (known) return known;
    const account = await reads.account(accountId);
    if (!account) throw new Error(`there is no account ${accountId}`);
    const named = { id: newId("key"), accountSeq: account.seq, name: "Playground", start: "playground", hash };
    // Of two at once the second finds the first's.
    await post({ deed: "create-key", scope: "generate", atMs: clock.nowMs(), ...named });
    const made = await reads.callerByKeyHash(hash);
    if (!made) throw new Error("the key of the playground was not made");
    return made;
  };
