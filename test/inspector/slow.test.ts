// A viewer that does not read: nothing is buffered for it, others are not affected, and it learns what it missed.
import { expect, test } from "bun:test";
import { openHarness } from "../harness.ts";
import { openRawViewer } from "./raw-viewer.ts";
import { connectViewer } from "./viewer.ts";

/** Generations whose frames exceed what the sockets and the ring of changes hold. */
const GENERATIONS = 600;
const AT_ONCE = 50;

test("drops the oldest frames for a viewer that does not read, reports their number, and then sends the current state", async () => {
  const harness = await openHarness({ factor: 1000, env: { GENROUTER_LIMITS__MAX_RUNNING: "100" } });
  const slow = await openRawViewer(harness.url, "/inspector/ws");
  const eye = await connectViewer(harness);
  await harness.eventually(() => eye.batches.at(-1)?.totals?.viewers === 2, "both viewers");
  const ids: string[] = [];
  // In batches that the reading viewer can follow.
  while (ids.length < GENERATIONS) {
    const made = await Promise.all(Array.from({ length: AT_ONCE }, () => harness.submit("sim-image-1", { prompt: "a kite" })));
    for (const { id } of made) {
      await harness.until(id);
      ids.push(id);
    }
  }
  const ended = () => new Set(eye.events.filter(({ to }) => to === "succeeded").map(({ id }) => id));
  await harness.eventually(() => ended().size === GENERATIONS, "the events of all generations");
  expect(eye.batches.some(({ leftOut }) => leftOut !== undefined)).toBe(false);

  const running = await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
  await harness.until(running.id, ({ status }) => status === "running");
  slow.read();
  const snapshots = () => slow.frames.filter(({ type }) => type === "@xstate.snapshot");
  await harness.eventually(() => snapshots().some(({ sessionId }) => sessionId === running.id), "the newest");
  const missed = slow.frames.reduce((sum, { type, count }) => sum + (type === "@genrouter.leftOut" ? Number(count) : 0), 0);
  expect(missed).toBeGreaterThan(0);
  // Every change was either sent or counted as left out. Changes without an event (rows, the ledger) are counted, too.
  expect(snapshots().length + missed).toBeGreaterThanOrEqual(eye.events.length);
  // After the gap, all current machines were sent again.
  const at = slow.frames.findIndex(({ type }) => type === "@genrouter.leftOut");
  const again = slow.frames
    .slice(at)
    .filter(({ type }) => type === "@xstate.actor")
    .map(({ sessionId }) => sessionId);
  expect(again).toEqual(expect.arrayContaining(["ledger", running.id]));
  slow.close();
  await eye.close();
  await harness.close();
}, 60_000);
