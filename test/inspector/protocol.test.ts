// The open inspection protocol with the stock receiver over a WebSocket.
import { expect, test } from "bun:test";
import { createWebSocketReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";
import { type Harness, openHarness } from "../harness.ts";
import { connectViewer, socketUrl } from "./viewer.ts";

/** The stock receiver and its received events. */
const receive = (harness: Harness) => {
  const got: StatelyInspectionEvent[] = [];
  createWebSocketReceiver({ server: socketUrl(harness, "/inspector/ws") }).subscribe((event) => void got.push(event));
  return got;
};
const ofType = <T extends StatelyInspectionEvent["type"]>(got: StatelyInspectionEvent[], type: T, sessionId: string) =>
  got.filter((event): event is StatelyInspectionEvent & { type: T } => event.type === type && event.sessionId === sessionId);

test("sends the stock receiver the definitions, events and snapshots of our machines, including earlier ones", async () => {
  const harness = await openHarness({ factor: 20 });
  const early = await harness.submit("sim-image-1", { prompt: "canary-early [sim:stuck]" });
  await harness.until(early.id, ({ status }) => status === "running");
  const got = receive(harness);
  const [there] = await harness.eventually(() => {
    const actors = ofType(got, "@xstate.actor", early.id);
    return actors.length > 0 && actors;
  }, "the actor");
  expect(there).toMatchObject({ name: early.id, rootId: early.id, id: null, _version: expect.any(String) });
  const machine = JSON.parse(there?.definition ?? "") as { id: string; states: { running: { states: object } } };
  expect(machine.id).toBe("generation");
  expect(Object.keys(machine.states)).toEqual(["queued", "running", "succeeded", "failed"]);
  expect(Object.keys(machine.states.running.states)).toContain("confirming");
  expect(ofType(got, "@xstate.actor", "ledger")).toHaveLength(1);

  const { id } = await harness.submit("sim-image-1", { prompt: "canary-late" });
  const ended = await harness.eventually(
    () => ofType(got, "@xstate.snapshot", id).find(({ snapshot }) => snapshot.status === "done"),
    "the end",
  );
  expect(ended.snapshot).toMatchObject({ value: "succeeded", children: {} });
  const { seq } = (await harness.store.findGeneration(id)) ?? { seq: 0 };
  const events = await harness.store.eventsOf(seq);
  expect(ofType(got, "@xstate.event", id).map(({ event }) => event.type)).toEqual(events.map(({ event }) => event.type));
  const values = ofType(got, "@xstate.snapshot", id).map(({ snapshot }) => (snapshot as unknown as { value: unknown }).value);
  expect(values).toContainEqual({ running: { submitting: "sending" } });
  expect(values).toHaveLength(events.length);
  expect(ofType(got, "@xstate.snapshot", id)[1]?.snapshot).toMatchObject({ context: { tried: 1, current: { n: 1 } } });
  expect(JSON.stringify(got)).not.toContain("canary");
  await harness.close();
}, 30_000);

test("ignores what a receiver sends, whatever its form and rate, and continues to send to it", async () => {
  const harness = await openHarness();
  const eye = await connectViewer(harness);
  const socket = new WebSocket(socketUrl(harness, "/inspector/ws"));
  const frames: { sessionId?: string }[] = [];
  socket.onmessage = ({ data }) => void frames.push(JSON.parse(String(data)) as { sessionId?: string });
  await harness.eventually(() => frames.some(({ sessionId }) => sessionId === "ledger"), "the first frames");
  const actor = { type: "@xstate.actor", name: "lamp", sessionId: "x:0", definition: '{"id":"lamp"}' };
  for (const message of ["", "{", "null", "ping", JSON.stringify(actor), "x".repeat(120_000)])
    for (let n = 0; n < 200; n += 1) socket.send(message);
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
  await harness.until(id);
  await harness.eventually(() => frames.some(({ sessionId }) => sessionId === id), "the generation");
  expect([...eye.rows.values()].filter(({ name }) => name === "lamp")).toEqual([]);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  socket.close();
  await eye.close();
  await harness.close();
}, 60_000);
