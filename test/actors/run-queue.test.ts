// Tests the run queue against a simple model: limits, no idle place while a generation waits, and fairness among accounts.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createRunQueue, type Waiting } from "../../actors/supervisor/run-queue.ts";

const ROUTES = ["a", "b", "c"];

test("serves accounts round robin, and the oldest first within an account, in any order of arrival", () => {
  const queue = createRunQueue({ all: 100, of: () => 1 });
  queue.take("a", false);
  const arrive = (accountSeq: number, ...seqs: number[]) => {
    for (const seq of seqs) queue.wait({ seq, accountSeq, routeId: "a", isRunning: false });
  };
  arrive(1, 10, 14, 12, 11);
  arrive(2, 21, 20);
  arrive(3, 30);
  const served: number[] = [];
  for (let turn = 0; turn < 7; turn += 1) {
    expect(queue.nextGranted()).toBeNull();
    queue.giveBack("a");
    served.push(queue.nextGranted()?.seq ?? 0);
  }
  expect(served).toEqual([10, 20, 30, 11, 21, 12, 14]);
});

test("delays an account's first generation by one turn only behind an account with 1,000 waiting", () => {
  const queue = createRunQueue({ all: 10_000, of: () => 1 });
  queue.take("a", false);
  for (let seq = 0; seq < 1000; seq += 1) queue.wait({ seq, accountSeq: 1, routeId: "a", isRunning: false });
  queue.wait({ seq: 5000, accountSeq: 2, routeId: "a", isRunning: false });
  queue.giveBack("a");
  expect(queue.nextGranted()?.seq).toBe(0);
  queue.giveBack("a");
  expect(queue.nextGranted()?.seq).toBe(5000);
});

test("serves running generations before queued ones, without a place in the process limit", () => {
  const queue = createRunQueue({ all: 1, of: () => 1 });
  queue.take("a", false);
  queue.wait({ seq: 1, accountSeq: 1, routeId: "b", isRunning: false });
  // The process limit is reached: the queued one waits although the route is free, the running one does not.
  expect(queue.nextGranted()).toBeNull();
  expect(queue.tryTake("b", true)).toBe(true);
  queue.wait({ seq: 2, accountSeq: 2, routeId: "b", isRunning: true });
  queue.giveBack("b");
  expect(queue.nextGranted()?.seq).toBe(2);
  queue.giveBack("b");
  queue.endRunning();
  expect(queue.nextGranted()?.seq).toBe(1);
});

test("serves a running generation before an earlier queued one on the same route", () => {
  const queue = createRunQueue({ all: 10, of: () => 1 });
  queue.take("a", false);
  queue.wait({ seq: 1, accountSeq: 1, routeId: "a", isRunning: false });
  queue.wait({ seq: 2, accountSeq: 2, routeId: "a", isRunning: true });
  queue.giveBack("a");
  expect(queue.nextGranted()?.seq).toBe(2);
  queue.giveBack("a");
  expect(queue.nextGranted()?.seq).toBe(1);
});

test("denies a place to a newcomer while another generation waits for the route", () => {
  const queue = createRunQueue({ all: 10, of: () => 2 });
  queue.take("a", false);
  queue.take("a", false);
  queue.wait({ seq: 1, accountSeq: 1, routeId: "a", isRunning: false });
  queue.giveBack("a");
  expect(queue.tryTake("a", false)).toBe(false);
  expect(queue.nextGranted()?.seq).toBe(1);
});

test("drainRoute returns each waiting generation once, without those that left, and empties the queue", () => {
  const queue = createRunQueue({ all: 10, of: () => 0 });
  for (const seq of [3, 1, 2, 4]) queue.wait({ seq, accountSeq: seq % 2, routeId: "a", isRunning: seq === 4 });
  queue.leave(2);
  expect(
    queue
      .drainRoute("a")
      .map(({ seq }) => seq)
      .sort(),
  ).toEqual([1, 3, 4]);
  expect(queue.waiting()).toBe(0);
  expect(queue.drainRoute("a")).toEqual([]);
});

type Seated = { routeId: string };
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("arrive" as const), account: fc.nat(3), route: fc.nat(2), runs: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("finish" as const), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drain" as const), route: fc.nat(2) }) },
);

test("never exceeds its limits, never idles while a generation waits, and serves every account, compared with a model", () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 150, size: "max" }),
      fc.integer({ min: 1, max: 6 }),
      fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
      (steps, all, perRoute) => {
        const limit = (routeId: string) => perRoute[ROUTES.indexOf(routeId)] ?? 0;
        const queue = createRunQueue({ all, of: limit });
        const seated: (Seated & { counts: boolean })[] = [];
        const line: Waiting[] = [];
        /** For each waiting generation: how often each other account was served on its route since it arrived. */
        const passedBy = new Map<number, Map<number, number>>();
        let running = 0;
        let seq = 0;

        const slot = (routeId: string, isRunning: boolean) => {
          seated.push({ routeId, counts: !isRunning });
          if (!isRunning) running += 1;
        };
        const serve = () => {
          for (let next = queue.nextGranted(); next; next = queue.nextGranted()) {
            const served = next;
            const at = line.indexOf(served);
            expect(at).toBeGreaterThanOrEqual(0);
            line.splice(at, 1);
            const rivals = line.filter(({ routeId, isRunning }) => routeId === served.routeId && isRunning === served.isRunning);
            // The oldest is served first within an account.
            expect(rivals.some((each) => each.accountSeq === served.accountSeq && each.seq < served.seq)).toBe(false);
            for (const rival of rivals) {
              const counts = passedBy.get(rival.seq) ?? new Map<number, number>();
              counts.set(served.accountSeq, (counts.get(served.accountSeq) ?? 0) + 1);
              passedBy.set(rival.seq, counts);
              const isFirstOfItsAccount = !rivals.some((each) => each.accountSeq === rival.accountSeq && each.seq < rival.seq);
              // No other account is served twice while the first of an account waits, except for the turn in which it arrived.
              if (isFirstOfItsAccount && served.accountSeq !== rival.accountSeq)
                expect(counts.get(served.accountSeq) ?? 0).toBeLessThanOrEqual(
                  1 + (passedBy.get(rival.seq)?.get(rival.accountSeq) ?? 0),
                );
            }
            slot(served.routeId, served.isRunning);
          }
        };
        const check = () => {
          for (const routeId of ROUTES) {
            const onRoute = seated.filter((each) => each.routeId === routeId).length;
            expect(queue.onRoute(routeId)).toBe(onRoute);
            expect(onRoute).toBeLessThanOrEqual(limit(routeId));
            if (onRoute === limit(routeId)) continue;
            // The route has a free place: a generation that waits for it can only wait for the process limit.
            const waiting = line.filter((each) => each.routeId === routeId);
            expect(waiting.every(({ isRunning }) => !isRunning)).toBe(true);
            if (running < all) expect(waiting).toEqual([]);
          }
          expect(queue.running()).toBe(running);
          expect(running).toBeLessThanOrEqual(all);
          expect(queue.waiting()).toBe(line.length);
        };

        for (const each of steps) {
          if (each.kind === "arrive") {
            const routeId = ROUTES[each.route] ?? "a";
            seq += 1;
            if (queue.tryTake(routeId, each.runs)) slot(routeId, each.runs);
            else {
              const waiting = { seq, accountSeq: each.account, routeId, isRunning: each.runs };
              queue.wait(waiting);
              line.push(waiting);
            }
          } else if (each.kind === "finish") {
            const [gone] = seated.splice(each.pick % Math.max(1, seated.length), 1);
            if (!gone) continue;
            queue.giveBack(gone.routeId);
            if (gone.counts) {
              queue.endRunning();
              running -= 1;
            }
          } else if (each.kind === "leave") {
            const [gone] = line.splice(each.pick % Math.max(1, line.length), 1);
            if (gone) queue.leave(gone.seq);
          } else {
            const routeId = ROUTES[each.route] ?? "a";
            const out = queue.drainRoute(routeId).map((waiting) => waiting.seq);
            expect(out.sort()).toEqual(
              line
                .filter((waiting) => waiting.routeId === routeId)
                .map((waiting) => waiting.seq)
                .sort(),
            );
            for (const waiting of line.filter((other) => other.routeId === routeId)) line.splice(line.indexOf(waiting), 1);
          }
          serve();
          check();
        }
      },
    ),
    { seed: 20_261_019, numRuns: 300 },
  );
});
