// Tests the heap of deadlines: each fires once, in order of time, a bounded number in one turn.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createDeadlineGrace } from "../../actors/supervisor/deadline-grace.ts";
import { createDeadlineTimers } from "../../actors/supervisor/deadline-timers.ts";
import type { Deadline } from "../../src/domain/types.ts";

/** A clock that `run` moves; `run` then calls the due timers once, as one turn of the event loop would. */
const handClock = () => {
  let nowMs = 0;
  let timers: { dueAtMs: number; then: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    after: (ms: number, then: () => void) => {
      const timer = { dueAtMs: nowMs + ms, then };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
    armed: () => timers.map(({ dueAtMs }) => dueAtMs),
    run: (toMs: number) => {
      nowMs = Math.max(nowMs, toMs);
      const due = timers.filter(({ dueAtMs }) => dueAtMs <= nowMs);
      timers = timers.filter(({ dueAtMs }) => dueAtMs > nowMs);
      for (const { then } of due) then();
    },
  };
};
const at = (dueAtMs: number, n = 0): Deadline => ({ kind: "attempt", n, dueAtMs });

test("fires deadlines in order of time, and equal times in the order in which they were set", () => {
  const clock = handClock();
  const fired: number[] = [];
  const deadlines = createDeadlineTimers({ clock, due: (seq) => fired.push(seq) });
  deadlines.open();
  for (const [seq, dueAtMs] of [
    [1, 300],
    [2, 100],
    [3, 200],
    [4, 100],
  ] as const)
    deadlines.set(seq, at(dueAtMs));
  clock.run(250);
  expect(fired).toEqual([2, 4, 3]);
  expect(deadlines.size()).toBe(1);
  clock.run(300);
  expect(fired).toEqual([2, 4, 3, 1]);
  expect(deadlines.size()).toBe(0);
});

test("fires no deadline before open, then all due ones in order", () => {
  const clock = handClock();
  const fired: number[] = [];
  const deadlines = createDeadlineTimers({ clock, due: (seq) => fired.push(seq) });
  deadlines.set(1, at(200));
  deadlines.set(2, at(100));
  clock.run(300);
  expect(fired).toEqual([]);
  deadlines.open();
  clock.run(300);
  expect(fired).toEqual([2, 1]);
});

test("replaces the one deadline of a generation with an earlier or later one, and removes it for null", () => {
  const clock = handClock();
  const fired: [number, number][] = [];
  const deadlines = createDeadlineTimers({ clock, due: (seq, { n }) => fired.push([seq, n]) });
  deadlines.open();
  deadlines.set(1, at(100, 1));
  deadlines.set(1, at(500, 2));
  deadlines.set(2, at(500, 1));
  deadlines.set(2, at(200, 2));
  deadlines.set(3, at(150, 1));
  deadlines.set(3, null);
  clock.run(400);
  expect(fired).toEqual([[2, 2]]);
  clock.run(500);
  expect(fired).toEqual([
    [2, 2],
    [1, 2],
  ]);
});

test("arms one timer for the next deadline, and none if there is no deadline", () => {
  const clock = handClock();
  const deadlines = createDeadlineTimers({ clock, due: () => undefined });
  deadlines.open();
  expect(clock.armed()).toEqual([]);
  deadlines.set(1, at(900));
  deadlines.set(2, at(400));
  deadlines.set(3, at(700));
  expect(clock.armed()).toEqual([400]);
  deadlines.set(2, null);
  expect(clock.armed()).toEqual([700]);
  deadlines.set(1, null);
  deadlines.set(3, null);
  expect(clock.armed()).toEqual([]);
  deadlines.set(4, at(50));
  deadlines.stop();
  expect(clock.armed()).toEqual([]);
});

test("fires 10,000 overdue deadlines in turns of 200", () => {
  const clock = handClock();
  let fired = 0;
  const deadlines = createDeadlineTimers({
    clock,
    due: () => {
      fired += 1;
    },
  });
  deadlines.open();
  for (let seq = 0; seq < 10_000; seq += 1) deadlines.set(seq, at(seq % 7));
  const perTurn: number[] = [];
  while (deadlines.size() > 0) {
    const before = fired;
    clock.run(10);
    perTurn.push(fired - before);
  }
  expect(perTurn).toEqual(Array<number>(50).fill(200));
});

test("keeps a deadline that a generation sets while its deadline fires", () => {
  const clock = handClock();
  const fired: number[] = [];
  const deadlines = createDeadlineTimers({
    clock,
    due: (seq, { n }) => {
      fired.push(n);
      if (n < 3) deadlines.set(seq, at(clock.nowMs() + (n === 1 ? 0 : 100), n + 1));
    },
  });
  deadlines.open();
  deadlines.set(1, at(100, 1));
  clock.run(100);
  expect(fired).toEqual([1, 2]);
  clock.run(200);
  expect(fired).toEqual([1, 2, 3]);
});

test("after a pause of the process, delays deadlines of submitted attempts by 30 s, but not queue deadlines", () => {
  const clock = handClock();
  const fired: string[] = [];
  const putOffUntilMs = createDeadlineGrace({ clock, writesRejectedAtMs: () => null });
  const due = (seq: number, { kind }: Deadline) => fired.push(`${seq} ${kind} ${clock.nowMs()}`);
  const deadlines = createDeadlineTimers({ clock, due, putOffUntilMs });
  deadlines.open();
  deadlines.set(1, at(1_000));
  deadlines.set(2, { kind: "collect", n: 1, dueAtMs: 2_000 });
  deadlines.set(3, { kind: "slot", n: 0, dueAtMs: 3_000 });
  deadlines.set(4, at(99_000));
  clock.run(100_000);
  expect(fired).toEqual(["3 slot 100000", "4 attempt 100000"]);
  // A deadline that is set for a past time does not mean that the process was paused.
  deadlines.set(5, at(50_000));
  clock.run(100_001);
  expect(fired.slice(2)).toEqual(["5 attempt 100001"]);
  clock.run(129_999);
  expect(fired).toHaveLength(3);
  clock.run(130_000);
  expect(fired.slice(3)).toEqual(["1 attempt 130000", "2 collect 130000"]);
});

test("fires no deadline of a submitted attempt while the store is unavailable and for 30 s after", () => {
  const clock = handClock();
  const fired: number[] = [];
  let rejectedAtMs: number | null = null;
  const putOffUntilMs = createDeadlineGrace({ clock, writesRejectedAtMs: () => rejectedAtMs });
  const deadlines = createDeadlineTimers({ clock, due: (seq) => fired.push(seq), putOffUntilMs });
  deadlines.open();
  deadlines.set(1, at(1_000));
  deadlines.set(2, { kind: "start", n: 0, dueAtMs: 1_000 });
  for (let nowMs = 1_000; nowMs <= 600_000; nowMs += 1_000) {
    rejectedAtMs = nowMs;
    clock.run(nowMs);
  }
  expect(fired).toEqual([2]);
  for (let nowMs = 601_000; nowMs < 630_000; nowMs += 1_000) clock.run(nowMs);
  expect(fired).toEqual([2]);
  clock.run(630_000);
  expect(fired).toEqual([2, 1]);
});

test("delays a route's deadline while a received response is uncommitted, by 30 s at most", () => {
  const clock = handClock();
  const fired: string[] = [];
  const inHand = new Set(["1 1", "2 1"]);
  const leftOutcome = (seq: number, n: number) =>
    inHand.has(`${seq} ${n}`) ? ({ type: "accepted", n, job: { jobId: "j", urls: {} }, atMs: 0 } as never) : undefined;
  const putOffUntilMs = createDeadlineGrace({ clock, writesRejectedAtMs: () => null, leftOutcome });
  const deadlines = createDeadlineTimers({
    clock,
    due: (seq, { n }) => fired.push(`${seq} ${n} ${clock.nowMs()}`),
    putOffUntilMs,
  });
  deadlines.open();
  for (const seq of [1, 2, 3]) deadlines.set(seq, at(10_000, 1));
  for (let nowMs = 1_000; nowMs <= 15_000; nowMs += 1_000) clock.run(nowMs);
  expect(fired).toEqual(["3 1 10000"]);
  // The transition is in the store, and sets the next deadline.
  inHand.delete("1 1");
  deadlines.set(1, { kind: "collect", n: 1, dueAtMs: 20_000 });
  for (let nowMs = 16_000; nowMs <= 60_000; nowMs += 1_000) clock.run(nowMs);
  expect(fired.slice(1)).toEqual(["1 1 20000", "2 1 40000"]);
});

test("fires each of 100 deadlines once, at its last time, after 100,000 changes", () => {
  const clock = handClock();
  const fired = new Map<number, number>();
  const deadlines = createDeadlineTimers({ clock, due: (seq, { dueAtMs }) => fired.set(seq, (fired.get(seq) ?? 0) + dueAtMs) });
  deadlines.open();
  for (let turn = 1; turn <= 1000; turn += 1) for (let seq = 0; seq < 100; seq += 1) deadlines.set(seq, at(turn));
  clock.run(999);
  expect(fired.size).toBe(0);
  clock.run(1000);
  expect([...fired.values()]).toEqual(Array<number>(100).fill(1000));
});

test("fires the same deadlines as a plain list, for any sequence of set, replace, remove and time", () => {
  const step = fc.oneof(
    fc.record({ seq: fc.nat(8), inMs: fc.integer({ min: -50, max: 500 }) }),
    fc.record({ seq: fc.nat(8), gone: fc.constant(true) }),
    fc.record({ passMs: fc.nat(200) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
      const clock = handClock();
      const fired: string[] = [];
      const expected: string[] = [];
      let list: { seq: number; dueAtMs: number; n: number }[] = [];
      const deadlines = createDeadlineTimers({ clock, due: (seq, { n }) => fired.push(`${seq}/${n}`), perTurn: 1000 });
      deadlines.open();
      steps.forEach((each, n) => {
        if ("passMs" in each) {
          clock.run(clock.nowMs() + each.passMs);
          const due = list.filter(({ dueAtMs }) => dueAtMs <= clock.nowMs()).sort((a, b) => a.dueAtMs - b.dueAtMs || a.n - b.n);
          list = list.filter(({ dueAtMs }) => dueAtMs > clock.nowMs());
          expected.push(...due.map((entry) => `${entry.seq}/${entry.n}`));
          return;
        }
        list = list.filter(({ seq }) => seq !== each.seq);
        if ("gone" in each) deadlines.set(each.seq, null);
        else {
          const dueAtMs = clock.nowMs() + each.inMs;
          deadlines.set(each.seq, at(dueAtMs, n));
          list.push({ seq: each.seq, dueAtMs, n });
        }
      });
      expect(fired).toEqual(expected);
      expect(deadlines.size()).toBe(list.length);
    }),
    { seed: 20_261_019, numRuns: 300 },
  );
});
