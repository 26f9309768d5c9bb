// Virtual time: what is to happen, in order of time and of arrival; between two happenings every promise that can settle does.
import { drainMicrotasks } from "bun:jsc";

export type Timeline = {
  /** True time, ms since 1970; no clock of the world is bound to show it. */
  nowMs(): number;
  /** Calls `then` once after `ms`; the function returned takes it back. */
  after(ms: number, then: () => void): () => void;
  /** Lets the next thing happen; false when nothing is left. */
  step(): boolean;
  /** Things that have happened so far. */
  happened(): number;
};

/** A fixed day, so that a world does not depend on that of its run. */
export const WORLD_BEGINS_MS = Date.UTC(2026, 9, 19);

type Happening = { atMs: number; order: number; run: (() => void) | null };

const isBefore = (a: Happening, b: Happening) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** A heap of happenings. What is taken back stays in it, empty, until its time. */
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
