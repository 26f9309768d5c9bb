// A viewer that does not read: nothing is buffered for it, others are not affected, and it learns what it missed.
import { expect, test } from "bun:test";
import { openHarness } from "../harness.ts";
import { openRawViewer } from "./raw-viewer.ts";
import { connectViewer, socketUrl } from "./viewer.ts";

/** A program that reports one machine. `report` sends snapshots with a context of 7,000 characters each. */
const openProgram = async (url: string) => {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve) => {
    socket.onopen = () => resolve();
  });
  const say = (type: string, value: string) =>
    socket.send(
      JSON.stringify({
        type,
        sessionId: "x:0",
        event: { type: value },
        snapshot: { value, context: { text: "x".repeat(7_000) } },
      }),
    );
  say("@xstate.actor", "begun");
  return {
    report: (from: number, to: number) => Array.from({ length: to - from }, (_, n) => say("@xstate.snapshot", `s${from + n}`)),
    socket,
  };
};

test("drops the oldest frames for a viewer that does not read, reports their number, and then sends the current state", async () => {
  const harness = await openHarness();
  const slow = await openRawViewer(harness.url, "/inspector/ws");
  const eye = await connectViewer(harness);
  const programs = await Promise.all(Array.from({ length: 4 }, () => openProgram(socketUrl(harness, "/inspector/ws"))));
  await harness.eventually(() => eye.batches.at(-1)?.totals?.viewers === 2, "both viewers");
  const guestEvents = () => eye.events.filter(({ kind }) => kind === "guest").length;
  // In batches that the reading viewer can follow.
  for (let from = 0; from < 900; from += 100) {
    for (const program of programs) program.report(from, from + 100);
    await harness.eventually(() => guestEvents() === (from + 100) * programs.length, "the events of all batches so far");
  }
  expect(eye.batches.some(({ leftOut }) => leftOut !== undefined)).toBe(false);

  slow.read();
  const snapshots = () =>
    slow.frames.filter(({ type, sessionId }) => type === "@xstate.snapshot" && String(sessionId).startsWith("guest"));
  const leftOut = () => slow.frames.flatMap(({ type, count }) => (type === "@genrouter.leftOut" ? [Number(count)] : []));
  await harness.eventually(
    () =>
      programs.every((_, n) =>
        snapshots().some(
          ({ sessionId, event }) => sessionId === `guest${n + 1}/x:0` && (event as { type: string }).type === "s899",
        ),
      ),
    "the newest of each",
  );
  const missed = leftOut().reduce((sum, count) => sum + count, 0);
  expect(missed).toBeGreaterThan(0);
  // Every change was either sent or counted as left out. Changes without an event (rows, the ledger) are counted, too.
  expect(snapshots().length + missed).toBeGreaterThanOrEqual(900 * programs.length);
  // After the gap, all current machines were sent again.
  const at = slow.frames.findIndex(({ type }) => type === "@genrouter.leftOut");
  const again = slow.frames
    .slice(at)
    .filter(({ type }) => type === "@xstate.actor")
    .map(({ sessionId }) => sessionId);
  expect(again).toEqual(expect.arrayContaining(["ledger", "guest1/x:0", "guest4/x:0"]));
  slow.close();
  for (const { socket } of programs) socket.close();
  await eye.close();
  await harness.close();
}, 60_000);
