// Every deadline of every live generation in one heap with one timer.

import { ChunkedArray } from "../../src/collections/chunked-array.ts";
import { ChunkedMap } from "../../src/collections/chunked-map.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Deadline } from "../../src/domain/types.ts";

/** Flat: there is one for every generation that has not ended. `dueAtMs`: what it was set for, `atMs`: when it fires. */
type Entry = Deadline & { atMs: number; setAtMs: number; order: number; seq: number };

export type DeadlineTimersDeps = {
  clock: Clock;
  /** Called once per deadline, in order of time. */
  due: (seq: number, command: Deadline) => void;
  /** Until when a deadline that is due is put off; null: it counts. `lateMs`: how much later it comes than it was set for. */
  putOffUntilMs?: (seq: number, command: Deadline, lateMs: number) => number | null;
  /** Deadlines in one turn, so that answers are not held up. */
  perTurn?: number;
};

export type Deadlines = {
  /** Sets the one deadline of a generation, or takes it away with null. */
  set(seq: number, command: Deadline | null): void;
  size(): number;
  /** Nothing fires before: what is taken up at a start comes first, and then all that was due meanwhile. */
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
  /** The entry that counts for a generation; others in the heap are left-overs and are dropped when they surface. */
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
      // A heap of mostly left-overs is rebuilt, so that memory follows what is live.
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
