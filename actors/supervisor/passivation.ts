// Passivates actors that are idle for long, or the longest idle ones above a bound.
import type { ActorHost } from "./actor-host.ts";

export type LiveActors = {
  /** Registers a host whose actor is in memory. */
  add(host: ActorHost): void;
  /** Marks a host as idle. */
  rested(host: ActorHost): void;
  remove(host: ActorHost): void;
  size(): number;
};

/** Idle time in milliseconds before passivation. Most waits are shorter, and for longer ones a restore costs less than memory. */
export const REST_MS = 60_000;
/**
 * Hosts checked on each call. More than one is added per call, so the check keeps up, and a small number keeps the cost linear.
 */
const IDLE_CHECKS = 2;

/** @param bound soft maximum of actors in memory; an actor with pending work stays. */
export const createPassivation = (bound: number, nowMs: () => number): LiveActors => {
  /** Hosts by the time at which they were last busy, oldest first. */
  const hosts = new Map<ActorHost, number>();
  const busyNow = (host: ActorHost) => {
    hosts.delete(host);
    hosts.set(host, nowMs());
  };
  const passivateOldest = () => {
    let checksLeft = IDLE_CHECKS;
    for (const [host, sinceMs] of hosts) {
      if (checksLeft === 0 || (hosts.size <= bound && nowMs() - sinceMs < REST_MS)) return;
      checksLeft -= 1;
      if (host.passivate()) hosts.delete(host);
      else busyNow(host);
    }
  };
  const touch = (host: ActorHost) => {
    busyNow(host);
    passivateOldest();
  };
  return { add: touch, rested: touch, remove: (host) => void hosts.delete(host), size: () => hosts.size };
};
