// Programs that flood the inspector: bounded reads, disconnection, no stall.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Harness, openHarness } from "../harness.ts";
import { socketUrl } from "../inspector/viewer.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const TYPE = { type: "@xstate.snapshot", sessionId: "s1", event: { type: "x" } };
const frame = (chars: number): string =>
  JSON.stringify({ ...TYPE, snapshot: { value: "a", context: { text: "v".repeat(chars) } } });

type Program = { socket: WebSocket; closed: Promise<number>; code: () => number | null };
const connect = async (): Promise<Program> => {
  const socket = new WebSocket(socketUrl(harness, "/inspector/ws"));
  let code: number | null = null;
  const closed = new Promise<number>((end) => {
    socket.onclose = (event) => {
      code = event.code;
      end(event.code);
    };
  });
  await new Promise((opened) => {
    socket.onopen = opened;
  });
  return { socket, closed, code: () => code };
};

/** Waits until the service has closed the sockets, so that the next test has all program slots. */
const leave = async (all: readonly Program[]): Promise<void> => {
  for (const { socket } of all) socket.close();
  await Promise.all(all.map(({ closed }) => closed));
};

test("closes programs that exceed the read limit per second with 1008, without an event loop stall", async () => {
  const programs = await Promise.all(Array.from({ length: 3 }, connect));
  const large = frame(120_000);
  const sending = setInterval(() => {
    for (const { socket, code } of programs) if (code() === null && socket.bufferedAmount < 1_000_000) socket.send(large);
  }, 2);
  const codes = await Promise.all(programs.map(({ closed }) => closed));
  clearInterval(sending);
  expect(new Set(codes)).toEqual(new Set([1008]));
  expect((await harness.request("GET", "/healthz", { key: null })).status).toBe(200);
}, 60_000);

test("viewers that send other messages use no program slot", async () => {
  const onlookers = await Promise.all(Array.from({ length: 40 }, connect));
  // The service does not acknowledge frames, so a viewer observes that the frame was accepted.
  const seen = new Promise<string>((report) => {
    const [first] = onlookers;
    if (first) first.socket.onmessage = ({ data }) => String(data).includes('s1"') && report(String(data));
  });
  for (const { socket } of onlookers) socket.send("ping");
  const program = await connect();
  const sending = setInterval(() => program.socket.send(frame(10)), 20);
  expect(await seen).toContain('s1"');
  clearInterval(sending);
  expect([...onlookers, program].filter(({ code }) => code() !== null)).toEqual([]);
  await leave([...onlookers, program]);
}, 60_000);

test("rejects the 33rd program with 1013 until another program disconnects", async () => {
  const programs = await Promise.all(Array.from({ length: 33 }, connect));
  const rejected = await harness.eventually(() => {
    // Repeats the frames, because the service reads nothing in a second in which others flooded it.
    for (const { socket, code } of programs) if (code() === null) socket.send(frame(10));
    return programs.find(({ code }) => code() !== null);
  }, "a rejected program");
  expect([rejected.code(), programs.filter(({ code }) => code() !== null).length]).toEqual([1013, 1]);
  const [leaving] = programs.filter(({ code }) => code() === null);
  leaving?.socket.close();
  await leaving?.closed;
  const entered = await harness.eventually(async () => {
    const next = await connect();
    next.socket.send(frame(10));
    const pause = new Promise<null>((wake) => setTimeout(() => wake(null), 100));
    return (await Promise.race([next.closed, pause])) === null && next;
  }, "a free program slot");
  await leave([...programs, entered]);
}, 60_000);
