// Timers for the deadlines of all live generations: one heap and one timer.

import { ChunkedArray } from "../../src/collections/chunked-array.ts";
import { ChunkedMap } from "../../src/collections/chunked-map.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Deadline } from "../../src/domain/types.ts";

/** One flat entry for each open generation. `dueAtMs`: stored deadline; `atMs`: time at which the timer fires. */
type Entry = Deadline & { atMs: number; setAtMs: number; order: number; seq: number };

export type DeadlineTimersDeps = {
  clock: Clock;
  /** Called once for each deadline, in order of time. */
  due: (seq: number, command: Deadline) => void;
  /** Returns the time until which a due deadline is postponed, or null if it counts now. `lateMs`: delay of the timer. */
  putOffUntilMs?: (seq: number, command: Deadline, lateMs: number) => number | null;
  /** Maximum deadlines in one turn of the event loop, so that requests are answered meanwhile. */
  perTurn?: number;
};

export type Deadlines = {
  /** Sets or, with null, removes the deadline of a generation. */
  set(seq: number, command: Deadline | null): void;
  size(): number;
  /** Starts the timer. Restored generations come first, then the deadlines that passed meanwhile. */
  open(): void;
  stop(): void;
};

const isBefore = (a: Entry, b: Entry) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

export const createDeadlineTimers = ({
  clock,
  due,
  putOffUntilMs = () => null,
  perTurn = 200,
}: DeadlineTimersDeps): Deadlines => {
  const heap = new ChunkedArray<Entry>();
  /** The current entry of each generation. Other heap entries are outdated and are dropped when they surface. */
  const standing = new ChunkedMap<Entry>();
  let order = 0;
  let disarm: (() => void) | null = null;
  let armedForMs = Number.POSITIVE_INFINITY;
  let isOpen = false;

  const up = (entry: Entry) => {
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap.at(parentAt);
      if (!parent || !isBefore(entry, parent)) break;
      heap.put(at, parent);
      at = parentAt;
    }
    heap.put(at, entry);
  };
  const takeFirst = () => {
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      const right = heap.at(childAt + 1);
      let child = heap.at(childAt);
      if (child && right && isBefore(right, child)) {
        child = right;
        childAt += 1;
      }
      if (!child || !isBefore(child, last)) break;
      heap.put(at, child);
      at = childAt;
    }
    heap.put(at, last);
  };

  const put = (seq: number, { kind, n, dueAtMs }: Deadline, atMs: number) => {
    const entry = { kind, n, dueAtMs, atMs, setAtMs: clock.nowMs(), order: order++, seq };
    standing.set(seq, entry);
    up(entry);
  };
  const dropLeftOvers = () => {
    for (let first = heap.at(0); first && standing.get(first.seq) !== first; first = heap.at(0)) takeFirst();
  };
  const arm = () => {
    if (!isOpen) return;
    dropLeftOvers();
    const first = heap.at(0);
    const nextMs = first?.atMs ?? Number.POSITIVE_INFINITY;
    if (nextMs === armedForMs) return;
    disarm?.();
    armedForMs = nextMs;
    disarm = first ? clock.after(Math.max(0, first.atMs - clock.nowMs()), fire) : null;
  };
  const fire = () => {
    armedForMs = Number.POSITIVE_INFINITY;
    disarm = null;
    const nowMs = clock.nowMs();
    for (let fired = 0; fired < perTurn; fired += 1) {
      dropLeftOvers();
      const first = heap.at(0);
      if (!first || first.atMs > nowMs) break;
      takeFirst();
      standing.delete(first.seq);
      const { kind, n, dueAtMs } = first;
      const command = { kind, n, dueAtMs };
      const laterMs = putOffUntilMs(first.seq, command, nowMs - Math.max(first.atMs, first.setAtMs));
      if (laterMs === null) due(first.seq, command);
      else put(first.seq, command, laterMs);
    }
    arm();
  };

  return {
    set: (seq, command) => {
      if (command === null) standing.delete(seq);
      else put(seq, command, command.dueAtMs);
      // Rebuilds a heap of mostly outdated entries, so that memory follows the number of live entries.
      if (heap.length > 1024 && heap.length > 4 * standing.size) {
        heap.clear();
        for (const entry of standing.values()) up(entry);
      }
      arm();
    },
    size: () => standing.size,
    open: () => {
      isOpen = true;
      arm();
    },
    stop: () => {
      isOpen = false;
      disarm?.();
      heap.clear();
      standing.clear();
    },
  };
};
