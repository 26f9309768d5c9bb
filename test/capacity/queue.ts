// Virtual time for the capacity simulation: an event queue, and queues of work with a number of servers.

export type Agenda = {
  nowMs(): number;
  after(ms: number, then: () => void): void;
  /** Runs all events up to a time. */
  runUntil(ms: number): void;
};

const nothing = (): void => undefined;

/** A heap of events. Events of the same time run in the order in which they were added. */
export const openAgenda = (): Agenda => {
  const times: number[] = [];
  const orders: number[] = [];
  const works: (() => void)[] = [];
  let nowMs = 0;
  let asked = 0;
  const isBefore = (time: number, order: number, at: number): boolean =>
    time < (times[at] ?? 0) || (time === times[at] && order < (orders[at] ?? 0));
  const put = (at: number, time: number, order: number, work: () => void): void => {
    times[at] = time;
    orders[at] = order;
    works[at] = work;
  };
  const move = (from: number, to: number): void => put(to, times[from] ?? 0, orders[from] ?? 0, works[from] ?? nothing);
  const after = (ms: number, then: () => void): void => {
    const [time, order] = [nowMs + ms, asked++];
    let at = times.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(time, order, above)) break;
      move(above, at);
      at = above;
    }
    put(at, time, order, then);
  };
  const takeFirst = (): (() => void) => {
    const first = works[0] ?? nothing;
    const [time = 0, order = 0, work = nothing] = [times.pop(), orders.pop(), works.pop()];
    const size = times.length;
    if (size === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      const right = below + 1;
      if (right < size && isBefore(times[right] ?? 0, orders[right] ?? 0, below)) below = right;
      if (isBefore(time, order, below)) break;
      move(below, at);
      at = below;
    }
    put(at, time, order, work);
    return first;
  };
  return {
    nowMs: () => nowMs,
    after,
    runUntil: (ms) => {
      while (times.length > 0 && (times[0] ?? 0) <= ms) {
        nowMs = times[0] ?? nowMs;
        takeFirst()();
      }
      nowMs = ms;
    },
  };
};

export type Line = {
  /** Does work of `ms` as soon as a server is free, then calls `then`. */
  work(ms: number, then: () => void): void;
  /** The time that servers have worked, in ms, and the number of waiting items. */
  worked(): number;
  waiting(): number;
};

/** Served items are removed in batches of this size. */
const FORGET = 10_000;

/** A number of servers with one queue. */
export const openLine = (agenda: Agenda, servers: number): Line => {
  const line: { ms: number; then: () => void }[] = [];
  let first = 0;
  let busy = 0;
  let worked = 0;
  const begin = (ms: number, then: () => void): void => {
    busy += 1;
    agenda.after(ms, () => {
      worked += ms;
      busy -= 1;
      const next = line[first];
      if (next) {
        first += 1;
        if (first > FORGET) line.splice(0, first);
        if (first > FORGET) first = 0;
        begin(next.ms, next.then);
      }
      then();
    });
  };
  return {
    work: (ms, then) => {
      if (busy < servers) begin(ms, then);
      else line.push({ ms, then });
    },
    worked: () => worked,
    waiting: () => line.length - first,
  };
};

/** A level over time, with its mean since the last call of `mean`. */
export const openLevel = (agenda: Agenda) => {
  let level = 0;
  let sum = 0;
  let sinceMs = 0;
  let lastMs = 0;
  const note = (): void => {
    sum += level * (agenda.nowMs() - lastMs);
    lastMs = agenda.nowMs();
  };
  return {
    add: (by: number): void => {
      note();
      level += by;
    },
    now: () => level,
    mean: (): number => {
      note();
      const mean = sum / (lastMs - sinceMs);
      sum = 0;
      sinceMs = lastMs;
      return mean;
    },
  };
};
