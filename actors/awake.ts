// Which actors are in memory: above a bound those woken longest ago are put away, to be woken from disk when needed.
import type { Host } from "./host.ts";

export type Awake = {
  add(host: Host): void;
  /** A host has nothing to do for now: above the bound it is one that can be put away. */
  rested(host: Host): void;
  remove(host: Host): void;
  size(): number;
};

export const openAwake = (bound: number): Awake => {
  /** In order of waking. */
  const hosts = new Set<Host>();
  return {
    add: (host) => {
      hosts.add(host);
      // At most two are looked at: the bound is soft, and a look at all the busy ones at each waking would be quadratic.
      let spare = Math.min(2, hosts.size - bound);
      for (const old of hosts) {
        if (spare <= 0) break;
        spare -= 1;
        hosts.delete(old);
        // One with something under way stays, and has its turn again when it rests.
        if (!old.putAway()) hosts.add(old);
      }
    },
    rested: (host) => {
      if (hosts.size > bound && host.putAway()) hosts.delete(host);
    },
    remove: (host) => void hosts.delete(host),
    size: () => hosts.size,
  };
};
