// Fair queue: grants the next place to the claimant that has used least.
//
// The share with the least use is chosen first, then the account with the least use in that share.

/** The claimant of a place: a share (sort of work) and an account. Neither shares nor accounts can block each other. */
export type Claimant = { share: string; account: string };

/** Releases a place. @param cost the actual cost, in the unit of the queue's `cost` */
export type Release = (cost?: number) => void;

export type FairQueue = {
  /** Waits for a place; undefined if the signal ends the wait. */
  take(who: Claimant, signal: AbortSignal): Promise<Release | undefined>;
  /** Counts work without a place: it leaves fewer places to its account, and all places to the others. */
  count(who: Claimant): Release;
  /** Number of waiting claimants. */
  waiting(): number;
};

export type FairLineOptions = {
  places: number;
  /** Maximum number of concurrent places of one account in one share. */
  perAccount: number;
  /** Estimated cost of a place until its release; also the final cost if the release does not specify one. */
  cost: number;
};

type Group = { used: number; taken: number; line: (() => void)[] };
type Share = Group & { accounts: Map<string, Group> };

const newGroup = (used: number): Group => ({ used, taken: 0, line: [] });

/** The group with the least use; the first of equals. */
const least = <T extends { used: number }>(groups: Iterable<T>, may: (one: T) => boolean): T | undefined => {
  let found: T | undefined;
  for (const one of groups) if (may(one) && (!found || one.used < found.used)) found = one;
  return found;
};

/** Creates a queue. The use of a group is remembered until the other groups have used as much. */
export const createFairQueue = ({ places, perAccount, cost }: FairLineOptions): FairQueue => {
  const shares = new Map<string, Share>();
  let free = places;
  let waiting = 0;
  /** The use of the most recently served group of each level. */
  const served = new Map<Map<string, Group>, number>();
  const isActive = (group: Group) => group.taken > 0 || group.line.length > 0;
  /**
   * A group that begins to wait starts at least here, so that idle time does not accumulate credit. It starts as low as any active
   * group, so that those do not go first because they came earlier.
   */
  const floorOf = (level: Map<string, Group>): number => {
    const last = served.get(level) ?? 0;
    return Math.min(last, least(level.values(), isActive)?.used ?? last);
  };

  const mayEnter = (group: Group) => group.line.length > 0 && group.taken < perAccount;
  const hasEntrant = (share: Share): boolean => {
    for (const group of share.accounts.values()) if (mayEnter(group)) return true;
    return false;
  };
  const shareOf = (name: string): Share => {
    const share = shares.get(name) ?? { ...newGroup(0), accounts: new Map() };
    shares.set(name, share);
    if (share.taken === 0 && !hasEntrant(share)) share.used = Math.max(share.used, floorOf(shares));
    return share;
  };
  const groupOf = (share: Share, account: string): Group => {
    const floor = floorOf(share.accounts);
    const group = share.accounts.get(account) ?? newGroup(floor);
    share.accounts.set(account, group);
    if (group.taken === 0 && group.line.length === 0) group.used = Math.max(group.used, floor);
    return group;
  };
  /** If no claimant waits, all usage records of idle accounts are dropped. */
  const forget = (share: Share) => {
    const floor = waiting === 0 ? Number.POSITIVE_INFINITY : floorOf(share.accounts);
    for (const [account, group] of share.accounts)
      if (group.taken === 0 && group.line.length === 0 && group.used <= floor) share.accounts.delete(account);
  };
  const enterNext = (): void => {
    while (free > 0) {
      const share = least(shares.values(), hasEntrant);
      const group = share && least(share.accounts.values(), mayEnter);
      if (!share || !group) return;
      served.set(shares, share.used);
      served.set(share.accounts, group.used);
      group.line.shift()?.();
    }
  };
  const enter = (share: Share, group: Group, places: 0 | 1): Release => {
    let isGiven = false;
    free -= places;
    for (const each of [share, group]) {
      each.taken += 1;
      each.used += cost;
    }
    return (used = cost) => {
      if (isGiven) return;
      isGiven = true;
      free += places;
      for (const each of [share, group]) {
        each.taken -= 1;
        each.used += used - cost;
      }
      enterNext();
      forget(share);
    };
  };
  return {
    waiting: () => waiting,
    count: (who) => {
      const share = shareOf(who.share);
      return enter(share, groupOf(share, who.account), 0);
    },
    take: (who, signal) =>
      new Promise((fulfil) => {
        if (signal.aborted) return fulfil(undefined);
        const share = shareOf(who.share);
        const group = groupOf(share, who.account);
        const come = () => {
          waiting -= 1;
          signal.removeEventListener("abort", giveUp);
          fulfil(enter(share, group, 1));
        };
        const giveUp = () => {
          waiting -= 1;
          const at = group.line.indexOf(come);
          if (at !== -1) group.line.splice(at, 1);
          fulfil(undefined);
        };
        waiting += 1;
        signal.addEventListener("abort", giveUp, { once: true });
        group.line.push(come);
        enterNext();
      }),
  };
};
