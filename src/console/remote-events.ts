// What other nodes commit, as news of this one: generations and balances as they are looked at, purchases when some admin service has changed something.
import type { ChangeElsewhere, Following, RemoteChanges } from "../cluster/remote-changes.ts";
import type { StoreReads } from "../store/store.ts";
import type { PurchaseUpdate } from "./generations-dto.ts";

export type RemoteEventsDeps = {
  neighbours: RemoteChanges;
  /** Called when the admin service of some node has changed accounts, balances, keys or people; null: nobody wants to know. */
  admin: { changed: (() => void) | null };
};
export type Ears = {
  generation: (change: ChangeElsewhere) => void;
  purchase: (news: PurchaseUpdate) => void;
  /** Balances may have moved. */
  balances: () => void;
  wants: (accountSeq: number) => boolean;
  /** Whose purchases are listened to, by their ids; null: all. */
  accounts: () => ReadonlySet<string | null>;
};

/** Of each account so many are looked at: those before have long been decided. */
const NEWEST = 10;

export const createRemoteEvents = ({ neighbours, admin }: RemoteEventsDeps, reads: Pick<StoreReads, "purchases">, ears: Ears) => {
  /** States of purchases as they were told, by whose they are. */
  const known = new Map<string | null, Map<string, PurchaseUpdate["state"]>>();
  let following: Following | null = null;

  const look = async (accountId: string | null): Promise<void> => {
    const before = known.get(accountId);
    const newest = await reads.purchases(accountId, null, NEWEST);
    if (following === null) return;
    known.set(accountId, new Map(newest.map(({ id, state }) => [id, state])));
    if (before === undefined) return;
    for (const { id, accountId: whose, state } of newest)
      if (before.get(id) !== state) ears.purchase({ id, accountId: whose, state });
  };
  const lookAtAll = (): void => {
    const all = ears.accounts();
    for (const accountId of known.keys()) if (!all.has(accountId)) known.delete(accountId);
    // What cannot be read now is read when something changes again, or by the page that connects anew.
    for (const accountId of all) look(accountId).catch(() => undefined);
  };

  return {
    /** Somebody is about to listen; resolves when whatever is committed from now on will be told. */
    begin: async (accountId: string | null): Promise<void> => {
      following ??= neighbours.follow({ told: ears.generation, wants: ears.wants, wantsSteps: false });
      admin.changed = () => {
        ears.balances();
        lookAtAll();
      };
      const { ready } = following;
      if (!known.has(accountId)) await look(accountId).catch(() => undefined);
      await ready;
    },
    /** Nobody listens any more. */
    end: (): void => {
      following?.leave();
      following = null;
      admin.changed = null;
      known.clear();
    },
  };
};
