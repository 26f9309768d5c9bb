// Which actors are in memory: one that has rested for long, or the longest above a bound, is put away, to be woken from disk when needed.
import type { ActorHost } from "./actor-host.ts";

export type Awake = {
  /** A host's actor is in memory from now on. */
  add(host: ActorHost): void;
  /** A host has nothing to do for now. */
  rested(host: ActorHost): void;
  remove(host: ActorHost): void;
  size(): number;
};

/** Most waits are shorter; a longer one is cheaper to wake from than to keep. */
export const REST_MS = 60_000;
/** Hosts looked at per call: more than come, so that what is due is put away, and few, so that a look at many busy ones is never quadratic. */
const LOOKS = 2;

/** @param bound actors kept, softly: one with something under way stays. */
export const createPassivation = (bound: number, nowMs: () => number): Awake => {
  /** When each was last busy, the longest ago first. */
  const hosts = new Map<ActorHost, number>();
  const busyNow = (host: ActorHost) => {
    hosts.delete(host);
    hosts.set(host, nowMs());
  };
  const putAwayOldest = () => {
    let looks = LOOKS;
    for (const [host, sinceMs] of hosts) {
      if (looks === 0 || (hosts.size <= bound && nowMs() - sinceMs < REST_MS)) return;
      looks -= 1;
      if (host.putAway()) hosts.delete(host);
      else busyNow(host);
    }
  };
  const touch = (host: ActorHost) => {
    busyNow(host);
    putAwayOldest();
  };
  return { add: touch, rested: touch, remove: (host) => void hosts.delete(host), size: () => hosts.size };
};
