// The reader of upload bodies: rate, duration, pauses and interruptions, over a clock that the test moves.
import { expect, test } from "bun:test";
import { type BodyRead, createBodyReader, LEAST_BYTES_PER_S, RATE_WINDOW_MS } from "../../src/uploads/body-reader.ts";
import { UPLOAD_MS } from "../../src/uploads/time-limits.ts";
import { testClock } from "../clock.ts";

const LEAST = (LEAST_BYTES_PER_S * RATE_WINDOW_MS) / 1000;
/** Runs everything that is ready. */
const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));

const open = () => {
  const clock = testClock();
  const ending = new AbortController();
  let source!: ReadableStreamDefaultController<Uint8Array>;
  let wasCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      source = controller;
    },
    cancel: () => {
      wasCancelled = true;
    },
  });
  const reader = createBodyReader(stream, clock, ending.signal);
  const send = (bytes: number) => source.enqueue(new Uint8Array(bytes));
  return { clock, ending, reader, send, close: () => source.close(), fail: () => source.error(new Error("reset")), wasCancelled: () => wasCancelled }; // biome-ignore format: one row
};
/** Waits for the next read while the clock moves by steps of a second. */
const readWhile = async ({ clock, reader }: ReturnType<typeof open>, seconds: number): Promise<BodyRead | "nothing"> => {
  let read: BodyRead | "nothing" = "nothing";
  void reader.next().then((found) => {
    read = found;
  });
  for (let second = 0; second < seconds && read === "nothing"; second += 1) {
    await settle();
    clock.skip(1000);
  }
  await settle();
  return read;
};
const sizeOf = (read: BodyRead | "nothing"): number => (typeof read === "string" ? -1 : read.length);

test("a body whose client sends nothing is too slow after a minute", async () => {
  expect(await readWhile(open(), 59)).toBe("nothing");
  expect(await readWhile(open(), 61)).toBe("slow");
});

test("a body of one byte every 50 seconds is too slow", async () => {
  const body = open();
  const read: (BodyRead | "nothing")[] = [];
  for (let n = 0; n < 3 && read.at(-1) !== "slow"; n += 1) {
    const next = body.reader.next();
    await settle();
    body.clock.skip(50_000);
    body.send(1);
    read.push(await next);
  }
  expect(read.map((one) => (typeof one === "string" ? one : one.length))).toEqual([1, "slow"]);
});

test("a body with exactly the least rate is received until its end, and one byte less is too slow", async () => {
  for (const missing of [0, 1]) {
    const body = open();
    const first = body.reader.next();
    await settle();
    body.clock.skip(RATE_WINDOW_MS - 1);
    body.send(LEAST - missing);
    expect(sizeOf(await first)).toBe(LEAST - missing);
    const second = body.reader.next();
    await settle();
    body.clock.skip(1);
    await settle();
    if (missing === 0) body.close();
    expect(await second).toBe(missing === 0 ? "whole" : "slow");
  }
});

test("time in which the service does not read counts for the duration and not for the rate", async () => {
  const body = open();
  for (let n = 0; n < 29; n += 1) {
    body.send(1);
    expect(sizeOf(await body.reader.next())).toBe(1);
    body.clock.skip(60_000);
  }
  body.clock.skip(UPLOAD_MS - 29 * 60_000);
  expect(await body.reader.next()).toBe("late");
});

test("a body that arrives fast for too long is late", async () => {
  const body = open();
  for (let minute = 0; minute < 30; minute += 1) {
    const next = body.reader.next();
    await settle();
    body.clock.skip(59_999);
    body.send(LEAST);
    expect(sizeOf(await next)).toBe(LEAST);
    body.clock.skip(1);
  }
  expect(await body.reader.next()).toBe("late");
});

test("a pause loses no byte and does not end the body", async () => {
  const body = open();
  const paused = body.reader.next(3000);
  await settle();
  body.clock.skip(3000);
  expect(await paused).toBe("pause");
  body.send(7);
  expect(sizeOf(await body.reader.next(3000))).toBe(7);
  body.close();
  expect(await body.reader.next(3000)).toBe("whole");
});

test("a broken connection and an aborted signal are no end of the body, and a signal cancels the read", async () => {
  const reset = open();
  const broken = reset.reader.next();
  reset.fail();
  expect(await broken).toBe("broken");
  const body = open();
  const waiting = body.reader.next();
  await settle();
  body.ending.abort();
  expect([await waiting, await body.reader.next(), body.wasCancelled()]).toEqual(["broken", "broken", true]);
});
