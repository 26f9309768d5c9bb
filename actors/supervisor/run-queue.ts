// Run queue: bounds running generations in total and per route, round robin over accounts.

import { ChunkedMap } from "../../src/collections/chunked-map.ts";

/** A generation that waits for a place on a route. */
export type Waiting = { seq: number; accountSeq: number; routeId: string; isRunning: boolean };

/** Waiting generations of one route: a ring of accounts, each with its generations oldest first. */
class Ring {
  private readonly byAccount = new Map<number, Waiting[]>();
  private readonly turns: number[] = [];
  size = 0;

  add(waiting: Waiting): void {
    const queue = this.byAccount.get(waiting.accountSeq);
    if (queue) {
      // Nearly always the newest; a generation that returns keeps its age.
      let at = queue.length;
      while (at > 0 && (queue[at - 1]?.seq ?? 0) > waiting.seq) at -= 1;
      if (at === queue.length) queue.push(waiting);
      else queue.splice(at, 0, waiting);
    } else {
      this.byAccount.set(waiting.accountSeq, [waiting]);
      this.turns.push(waiting.accountSeq);
    }
    this.size += 1;
  }

  /** Returns the next generation for which `isLive` holds and drops the others. */
  next(isLive: (waiting: Waiting) => boolean): Waiting | null {
    for (let account = this.turns.shift(); account !== undefined; account = this.turns.shift()) {
      const queue = this.byAccount.get(account) ?? [];
      let first = queue.shift();
      while (first && !isLive(first)) {
        this.size -= 1;
        first = queue.shift();
      }
      if (queue.length > 0) this.turns.push(account);
      else this.byAccount.delete(account);
      if (first) {
        this.size -= 1;
        return first;
      }
    }
    return null;
  }
}

export type RunQueue = {
  /** Queues a generation for a route. */
  wait(waiting: Waiting): void;
  /** Removes a generation that ended or waits for another route. */
  leave(seq: number): void;
  isWaiting(seq: number): boolean;
  /** Takes a place immediately if no other generation waits before it. */
  tryTake(routeId: string, isRunning: boolean): boolean;
  /** Takes a place unconditionally, for a restored generation that had one. */
  take(routeId: string, isRunning: boolean): void;
  /** Returns a place of a route. `endRunning` returns the place in the process. */
  giveBack(routeId: string): void;
  endRunning(): void;
  /** Counts a restored generation that waits for its next route as running. */
  enter(): void;
  /** Returns the next generation for which a place is free and takes that place; null if there is none. */
  nextGranted(): Waiting | null;
  /** Removes and returns all generations that wait for a route, to place them again after the route changed. */
  drainRoute(routeId: string): Waiting[];
  running(): number;
  waiting(): number;
  onRoute(routeId: string): number;
};

/** @param limits `all`: maximum running generations in this process; `of(routeId)`: maximum attempts on a route. */
export const createRunQueue = (limits: { all: number; of: (routeId: string) => number }): RunQueue => {
  const taken = new Map<string, number>();
  /** Running generations come before queued ones, because they occupy a place in the process. */
  const rings = new Map<string, { running: Ring; queued: Ring }>();
  /** Routes with waiting generations, in order of turn. */
  const routeIds: string[] = [];
  const waitingBySeq = new ChunkedMap<Waiting>();
  let running = 0;
  let turn = 0;

  const isFree = (routeId: string) => (taken.get(routeId) ?? 0) < limits.of(routeId);
  const ringsOf = (routeId: string) => {
    const known = rings.get(routeId);
    if (known) return known;
    const made = { running: new Ring(), queued: new Ring() };
    rings.set(routeId, made);
    routeIds.push(routeId);
    return made;
  };
  const isLive = (waiting: Waiting) => waitingBySeq.get(waiting.seq) === waiting;
  const take = (routeId: string, isRunning: boolean) => {
    taken.set(routeId, (taken.get(routeId) ?? 0) + 1);
    if (!isRunning) running += 1;
  };

  return {
    wait: (waiting) => {
      waitingBySeq.set(waiting.seq, waiting);
      const ring = ringsOf(waiting.routeId);
      (waiting.isRunning ? ring.running : ring.queued).add(waiting);
    },
    leave: (seq) => void waitingBySeq.delete(seq),
    isWaiting: (seq) => waitingBySeq.has(seq),
    tryTake: (routeId, isRunning) => {
      const ring = rings.get(routeId);
      const isFirst = !ring || (ring.running.size === 0 && (isRunning || ring.queued.size === 0));
      if (!isFirst || !isFree(routeId) || (!isRunning && running >= limits.all)) return false;
      take(routeId, isRunning);
      return true;
    },
    take,
    giveBack: (routeId) => void taken.set(routeId, Math.max(0, (taken.get(routeId) ?? 0) - 1)),
    endRunning: () => {
      running = Math.max(0, running - 1);
    },
    enter: () => {
      running += 1;
    },
    nextGranted: () => {
      for (let step = 0; step < routeIds.length; step += 1) {
        const routeId = routeIds[(turn + step) % routeIds.length];
        const ring = routeId === undefined ? undefined : rings.get(routeId);
        if (routeId === undefined || !ring || !isFree(routeId)) continue;
        const next = ring.running.next(isLive) ?? (running < limits.all ? ring.queued.next(isLive) : null);
        if (!next) continue;
        turn = (turn + step + 1) % routeIds.length;
        waitingBySeq.delete(next.seq);
        take(routeId, next.isRunning);
        return next;
      }
      return null;
    },
    drainRoute: (routeId) => {
      const ring = rings.get(routeId);
      if (ring) {
        rings.delete(routeId);
        routeIds.splice(routeIds.indexOf(routeId), 1);
      }
      const all: Waiting[] = [];
      for (const each of ring ? [ring.running, ring.queued] : [])
        for (let next = each.next(isLive); next; next = each.next(isLive)) all.push(next);
      for (const waiting of all) waitingBySeq.delete(waiting.seq);
      return all;
    },
    running: () => running,
    waiting: () => waitingBySeq.size,
    onRoute: (routeId) => taken.get(routeId) ?? 0,
  };
};
