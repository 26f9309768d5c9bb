// Programs that flood the inspector (security.md 9e): what is read of all of them is bounded, too much of one ends it, and the loop goes on.
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

/** Until the service has seen them go, so that the next test has all places. */
const leave = async (all: readonly Program[]): Promise<void> => {
  for (const { socket } of all) socket.close();
  await Promise.all(all.map(({ closed }) => closed));
};

test("a program that sends more than is read in a second is sent away, and the stall meter of this file stays below its bound", async () => {
  const programs = await Promise.all(Array.from({ length: 3 }, connect));
  const large = frame(120_000);
  const sending = setInterval(() => {
    for (const { socket, code } of programs) if (code() === null && socket.bufferedAmount < 1_000_000) socket.send(large);
  }, 2);
  const codes = await Promise.all(programs.map(({ closed }) => closed));
  clearInterval(sending);
  expect(new Set(codes)).toEqual(new Set([1008]));
  expect((await harness.ask("GET", "/healthz", { key: null })).status).toBe(200);
}, 60_000);

test("whoever only looks on and says something else takes no program's place", async () => {
  const onlookers = await Promise.all(Array.from({ length: 40 }, connect));
  // A frame is answered by nothing: that it was taken is seen by who looks on.
  const seen = new Promise<string>((tell) => {
    const [first] = onlookers;
    if (first) first.socket.onmessage = ({ data }) => String(data).includes('s1"') && tell(String(data));
  });
  for (const { socket } of onlookers) socket.send("ping");
  const program = await connect();
  const sending = setInterval(() => program.socket.send(frame(10)), 20);
  expect(await seen).toContain('s1"');
  clearInterval(sending);
  expect([...onlookers, program].filter(({ code }) => code() !== null)).toEqual([]);
  await leave([...onlookers, program]);
}, 60_000);

test("so many programs are looked at and no more, until one leaves", async () => {
  const programs = await Promise.all(Array.from({ length: 33 }, connect));
  const turnedAway = await harness.eventually(() => {
    // Again and again: in a second in which others flooded, nothing is read.
    for (const { socket, code } of programs) if (code() === null) socket.send(frame(10));
    return programs.find(({ code }) => code() !== null);
  }, "the one too many");
  expect([turnedAway.code(), programs.filter(({ code }) => code() !== null).length]).toEqual([1013, 1]);
  const [leaving] = programs.filter(({ code }) => code() === null);
  leaving?.socket.close();
  await leaving?.closed;
  const entered = await harness.eventually(async () => {
    const next = await connect();
    next.socket.send(frame(10));
    const pause = new Promise<null>((wake) => setTimeout(() => wake(null), 100));
    return (await Promise.race([next.closed, pause])) === null && next;
  }, "room for the next");
  await leave([...programs, entered]);
}, 60_000);
