// Emits commits of other nodes to the event streams of this node.
//
// Generations and balances are emitted as they are read; purchases are read after a change by the admin service of any node.
import type { Following, RemoteChange, RemoteChanges } from "../cluster/remote-changes.ts";
import type { StoreReads } from "../store/store.ts";
import type { PurchaseUpdate } from "./generations-dto.ts";

export type RemoteEventsDeps = {
  remoteChanges: RemoteChanges;
  /** Called when the admin service of any node has changed accounts, balances, keys or users; null without subscribers. */
  admin: { changed: (() => void) | null };
};
export type Ears = {
  generation: (change: RemoteChange) => void;
  purchase: (news: PurchaseUpdate) => void;
  /** Balances may have changed. */
  balances: () => void;
  wants: (accountSeq: number) => boolean;
  /** Accounts whose purchases are observed, by id; null: all. */
  accounts: () => ReadonlySet<string | null>;
};

/** Number of purchases read per account; older ones are long settled. */
const NEWEST = 10;

export const createRemoteEvents = (
  { remoteChanges, admin }: RemoteEventsDeps,
  reads: Pick<StoreReads, "purchases">,
  ears: Ears,
) => {
  /** Emitted states of purchases, by account. */
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
  const refreshAll = (): void => {
    const all = ears.accounts();
    for (const accountId of known.keys()) if (!all.has(accountId)) known.delete(accountId);
    // A failed read is repeated after the next change or by a page that reconnects.
    for (const accountId of all) look(accountId).catch(() => undefined);
  };

  return {
    /** Starts observing an account; resolves when all later commits will be emitted. */
    begin: async (accountId: string | null): Promise<void> => {
      following ??= remoteChanges.follow({ onReport: ears.generation, wants: ears.wants, wantsSteps: false });
      admin.changed = () => {
        ears.balances();
        refreshAll();
      };
      const { ready } = following;
      if (!known.has(accountId)) await look(accountId).catch(() => undefined);
      await ready;
    },
    /** Stops observing when the last stream has closed. */
    end: (): void => {
      following?.leave();
      following = null;
      admin.changed = null;
      known.clear();
    },
  };
};
