// A stream of server-sent events: what a slow client costs, when text is taken, and how a stream ends.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { createPlaces } from "../../src/collections/places.ts";
import { EVENT_STREAM_HEADERS, EventStream, type Taken } from "../../src/event-streams/stream.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";

const clock = testClock();
const MANY = 1_000_000;

/** A stream that sends what `take` returns, with its number of calls and of ends. */
const open = (
  take: (call: number) => Taken | Promise<Taken>,
  isAllowed = async () => true,
  signal = new AbortController().signal,
) => {
  const calls = { taken: 0, ended: 0 };
  const source = {
    take: async () => {
      calls.taken += 1;
      return await take(calls.taken);
    },
    isAllowed,
    onEnd: () => {
      calls.ended += 1;
    },
  };
  return { stream: new EventStream({ clock, soon: setImmediate }, source, signal), calls };
};
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((next) => setImmediate(next));
};

test("takes nothing while the client does not read, however often something changes", async () => {
  const { stream, calls } = open(() => ({ text: "data: 1\n\n", hasMore: true }));
  for (let change = 0; change < 1000; change += 1) {
    stream.changed();
    await turns(1);
  }
  expect(calls.taken).toBeLessThanOrEqual(1);
  const reader = stream.body.getReader();
  for (let chunk = 0; chunk < 20; chunk += 1) await reader.read();
  expect(calls.taken).toBeGreaterThan(10);
  await reader.cancel();
  expect(calls.ended).toBe(1);
});

test("a client that stops reading its socket holds back the source, and ends the stream when it closes the socket", async () => {
  const { stream, calls } = open(() => ({ text: "x".repeat(MANY), hasMore: true }));
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0, idleTimeout: 0 },
    fetch: () => new Response(stream.body, { headers: EVENT_STREAM_HEADERS }),
  });
  const socket = connect(server.port ?? 0, "127.0.0.1");
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  let before = -1;
  // The buffers of the sockets take the first megabytes.
  await eventually(async () => {
    const now = calls.taken;
    await turns(200);
    const isStill = now > 0 && now === before;
    before = now;
    return isStill;
  }, "a source that rests");
  expect(calls.taken).toBeLessThan(50);
  socket.destroy();
  await eventually(() => calls.ended === 1, "the end of the stream");
  await server.stop(true);
});

test("ends after the last text, and after a take that fails", async () => {
  const last = open(() => ({ text: "data: last\n\n", isOver: true }));
  expect(await new Response(last.stream.body).text()).toBe("retry: 1000\n\ndata: last\n\n");
  const failing = open(() => Promise.reject(new Error("the store does not answer")));
  expect(await new Response(failing.stream.body).text()).toBe("retry: 1000\n\n");
  expect([last.calls.ended, failing.calls.ended]).toEqual([1, 1]);
});

test("sends what changed while it was taking", async () => {
  const { stream, calls } = open((call) => {
    if (call === 1) stream.changed();
    return call < 3 ? { text: `data: ${call}\n\n` } : { text: "" };
  });
  const reader = stream.body.getReader();
  for (let chunk = 0; chunk < 3; chunk += 1) await reader.read();
  await eventually(() => calls.taken >= 2, "the second take");
  stream.end();
  expect((await reader.read()).done).toBe(true);
});

test("ends at once for a client that is gone, and within a ping for one that may no longer read", async () => {
  const gone = AbortSignal.abort();
  const first = open(() => ({ text: "" }), undefined, gone);
  await turns(2);
  expect(first.calls.ended).toBe(1);
  let isAllowed = true;
  const second = open(
    () => ({ text: "" }),
    async () => isAllowed,
  );
  const reader = second.stream.body.getReader();
  clock.skip(15_000);
  await turns(3);
  expect(second.calls.ended).toBe(0);
  isAllowed = false;
  clock.skip(15_000);
  await turns(3);
  expect(second.calls.ended).toBe(1);
  await reader.cancel();
});

test("bounds places for each owner and in all, and frees them", () => {
  const places = createPlaces<string>({ ofOwner: 2, inAll: 3 });
  expect(["a", "a", "a", "b", "c"].map((owner) => places.take(owner))).toEqual([null, null, "owner", null, "all"]);
  places.release("a");
  expect([places.take("c"), places.take("a")]).toEqual([null, "all"]);
});
