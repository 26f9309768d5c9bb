// Which actors are in memory: above a bound those woken longest ago are put away, to be woken from disk when needed.
import type { Host } from "./host.ts";

export type Awake = { add(host: Host): void; remove(host: Host): void; size(): number };

export const openAwake = (bound: number): Awake => {
  /** In order of waking. */
  const hosts = new Set<Host>();
  return {
    add: (host) => {
      hosts.add(host);
      let spare = hosts.size - bound;
      for (const old of hosts) {
        if (spare <= 0) break;
        spare -= 1;
        hosts.delete(old);
        // One with something under way stays, and has its turn again later.
        if (!old.putAway()) hosts.add(old);
      }
    },
    remove: (host) => void hosts.delete(host),
    size: () => hosts.size,
  };
};
