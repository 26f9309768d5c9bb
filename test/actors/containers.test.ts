// Tests the collections for long-lived data: ChunkedMap, ChunkedArray and ClockCache.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkedArray } from "../../src/collections/chunked-array.ts";
import { ChunkedMap } from "../../src/collections/chunked-map.ts";
import { ClockCache } from "../../src/collections/clock-cache.ts";

const SEED = Number(process.env.SEED ?? 20_261_122);

test("ChunkedMap holds the same entries as a Map for rising, intermediate and lower keys and for emptied chunks", () => {
  const change = fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant("rise" as const), by: fc.integer({ min: 1, max: 900 }) }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant("put" as const), by: fc.integer({ min: -50, max: 3_000 }) }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant("take" as const), by: fc.integer({ min: -50, max: 3_000 }) }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant("empty" as const), by: fc.integer({ min: 0, max: 3_000 }) }) },
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const shelves = new ChunkedMap<string>();
      const map = new Map<number, string>();
      let highest = 0;
      const put = (key: number, value: string) => {
        shelves.set(key, value);
        map.set(key, value);
        highest = Math.max(highest, key);
      };
      const take = (key: number) => expect(shelves.delete(key)).toBe(map.delete(key));
      for (const [n, { does, by }] of changes.entries()) {
        // Uses every second key, so that there are keys in between.
        if (does === "rise") for (let k = 0; k < by; k += 1) put(highest + 2, `${n}`);
        else if (does === "put") put(by, `${n}`);
        else if (does === "take") take(by);
        else for (let key = by; key < by + 1_100; key += 1) take(key);
        expect(shelves.size).toBe(map.size);
      }
      for (let key = -60; key < highest + 10; key += 7) {
        expect(shelves.get(key)).toBe(map.get(key));
        expect(shelves.has(key)).toBe(map.has(key));
      }
      const found = [...map].every(([key, value]) => shelves.get(key) === value);
      expect(found).toBe(true);
      expect([...shelves.values()].sort()).toEqual([...map.values()].sort());
      shelves.clear();
      expect([shelves.size, [...shelves.values()]]).toEqual([0, []]);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test("ChunkedArray behaves as an array under push, pop, at and put at any length", () => {
  const step = fc.record({
    pushes: fc.integer({ min: 0, max: 1_200 }),
    pops: fc.integer({ min: 0, max: 1_200 }),
    at: fc.nat(2_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const list = new ChunkedArray<number>();
      const array: number[] = [];
      for (const { pushes, pops, at } of steps) {
        for (let n = 0; n < pushes; n += 1) {
          list.push(n);
          array.push(n);
        }
        list.put(at, -1);
        if (at < array.length) array[at] = -1;
        expect([list.at(at), list.length]).toEqual([array[at], array.length]);
        for (let n = 0; n < pops; n += 1) expect(list.pop()).toBe(array.pop());
      }
      expect(Array.from({ length: list.length }, (_, at) => list.at(at))).toEqual(array);
    }),
    { seed: SEED, numRuns: 200 },
  );
});

test("ClockCache holds between one and two times its capacity, and returns the value that was set last", () => {
  const use = fc.record({ does: fc.constantFrom("set", "set", "get", "delete"), key: fc.nat(60) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(use, { maxLength: 400 }), (most, uses) => {
      const recent = new ClockCache<number, { n: number }>(most);
      const map = new Map<number, { n: number }>();
      let deleted = 0;
      for (const [n, { does, key }] of uses.entries()) {
        if (does === "set") {
          recent.set(key, { n });
          map.set(key, { n });
          expect(recent.get(key)).toEqual({ n });
        } else if (does === "get") {
          const had = recent.has(key);
          const seen = recent.get(key);
          expect(seen !== undefined).toBe(had);
          if (seen) expect(map.get(key)).toEqual(seen);
        } else {
          deleted += recent.has(key) ? 1 : 0;
          recent.delete(key);
          map.delete(key);
          expect(recent.has(key)).toBe(false);
        }
        expect(recent.size).toBeLessThanOrEqual(2 * most);
        expect(recent.size).toBeGreaterThanOrEqual(Math.min(map.size, most) - deleted);
      }
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test("ClockCache keeps used entries while thousands of others are set, up to 1.4 times its capacity", () => {
  const recent = new ClockCache<number, { n: number }>(100);
  for (let n = 0; n < 140; n += 1) recent.set(n, { n });
  for (let n = 1_000; n < 9_000; n += 1) {
    recent.set(n, { n });
    for (let used = 0; used < 140; used += 1) expect(recent.get(used)).toBeDefined();
  }
  for (let n = 10_000; n < 10_400; n += 1) recent.set(n, { n });
  expect(recent.has(0)).toBe(false);
});
