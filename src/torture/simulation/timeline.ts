// Virtual time: runs scheduled events in order of time and insertion.
//
// Between two events all settled promises run their continuations.
import { drainMicrotasks } from "bun:jsc";

export type Timeline = {
  /** True time, ms since 1970; no clock of the world must show it. */
  nowMs(): number;
  /** Calls `then` once after `ms`; the returned function cancels it. */
  after(ms: number, then: () => void): () => void;
  /** Runs the next event; false if none is left. */
  step(): boolean;
  /** The number of events so far. */
  happened(): number;
};

/** A fixed day, so that a world does not depend on the date of its run. */
export const WORLD_BEGINS_MS = Date.UTC(2026, 9, 19);

type Happening = { atMs: number; order: number; run: (() => void) | null };

const isBefore = (a: Happening, b: Happening) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** A heap of events. A cancelled event stays in it, empty, until its time. */
export const createTimeline = (): Timeline => {
  const heap: Happening[] = [];
  let nowMs = WORLD_BEGINS_MS;
  let order = 0;
  let happened = 0;

  const put = (happening: Happening) => {
    let at = heap.length;
    heap.push(happening);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (!parent || isBefore(parent, happening)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = happening;
  };
  const takeFirst = (): Happening | undefined => {
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const [a, b] = [heap[left], heap[right]];
      const below = b && a && isBefore(b, a) ? right : left;
      const child = heap[below];
      if (!child || isBefore(last, child)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
    return first;
  };

  return {
    nowMs: () => nowMs,
    happened: () => happened,
    after: (ms, then) => {
      const happening: Happening = { atMs: nowMs + Math.max(0, Math.floor(ms)), order: order++, run: then };
      put(happening);
      return () => {
        happening.run = null;
      };
    },
    step: () => {
      for (;;) {
        const first = takeFirst();
        if (!first) return false;
        if (first.run === null) continue;
        nowMs = first.atMs;
        happened += 1;
        first.run();
        drainMicrotasks();
        return true;
      }
    },
  };
};
