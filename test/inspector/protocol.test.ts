// The open inspection protocol with the stock package over a WebSocket, in both directions.
import { expect, test } from "bun:test";
import { createWebSocketInspector, createWebSocketReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";
import { createActor, createMachine, fromPromise } from "xstate";
import { type Harness, openHarness } from "../harness.ts";
import { connectViewer, socketUrl } from "./viewer.ts";

const lamp = createMachine({
  id: "lamp",
  initial: "off",
  states: { off: { on: { press: "on" } }, on: { on: { press: "off" } } },
});
const space = createMachine({
  id: "lamp",
  initial: "dark",
  context: { visits: 0 },
  invoke: [
    { id: "ceiling", src: lamp },
    { id: "clock", src: fromPromise(() => new Promise<void>(() => undefined)) },
  ],
  states: {
    dark: { on: { enter: "lit" } },
    lit: { type: "parallel", states: { air: { initial: "warm", states: { warm: {} } }, light: {} } },
  },
});
/** A program with the stock client, run as any other program. */
const program = (harness: Harness) => {
  const inspector = createWebSocketInspector({ url: socketUrl(harness, "/inspector/ws") });
  const actor = createActor(space, { inspect: inspector.inspect }).start();
  return { inspector, actor };
};
/** The stock receiver and its received events. */
const receive = (harness: Harness) => {
  const got: StatelyInspectionEvent[] = [];
  createWebSocketReceiver({ server: socketUrl(harness, "/inspector/ws") }).subscribe((event) => void got.push(event));
  return got;
};
const ofType = <T extends StatelyInspectionEvent["type"]>(got: StatelyInspectionEvent[], type: T, sessionId: string) =>
  got.filter((event): event is StatelyInspectionEvent & { type: T } => event.type === type && event.sessionId === sessionId);

test("shows the machine, nested machines and events of a program with the stock client", async () => {
  const harness = await openHarness();
  const eye = await connectViewer(harness);
  const { inspector, actor } = program(harness);
  const rowOf = (name: string) => [...eye.rows.values()].find((row) => row.kind === "guest" && row.name === name);
  await harness.eventually(() => rowOf("ceiling") && rowOf("clock"), "its machines");
  actor.send({ type: "enter" });
  actor.getSnapshot().children.ceiling?.send({ type: "press" });
  await harness.eventually(() => rowOf("ceiling")?.state === "on", "the lamp");
  const root = rowOf("lamp");
  expect(root).toMatchObject({ state: "lit.air.warm, lit.light", actor: "live" });
  for (const name of ["ceiling", "clock"]) expect(rowOf(name)?.parent).toBe(root?.id);
  expect(rowOf("clock")?.state).toBe("active");
  expect(eye.events).toContainEqual(
    expect.objectContaining({ kind: "guest", type: "enter", from: "dark", to: "lit.air.warm, lit.light" }),
  );
  eye.say({ choose: root?.id });
  const chosen = await harness.eventually(() => eye.batches.find((batch) => batch.chosen)?.chosen, "the chosen one");
  expect(chosen).toMatchObject({
    context: { visits: 0 },
    definition: { id: "lamp", states: { dark: {}, lit: { type: "parallel" } } },
  });
  // A later viewer gets the same rows.
  const late = await connectViewer(harness);
  await harness.eventually(() => late.rows.size === eye.rows.size, "all rows");
  expect([...late.rows.values()].filter(({ kind }) => kind === "guest").map(({ name, state }) => [name, state])).toEqual([
    ["lamp", "lit.air.warm, lit.light"],
    ["ceiling", "on"],
    ["clock", "active"],
  ]);
  // When the program disconnects, its actors end.
  inspector.stop();
  await harness.eventually(() => rowOf("lamp")?.actor === "ended", "its end");
  await Promise.all([eye.close(), late.close()]);
  await harness.close();
}, 30_000);

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

test("sends a late receiver the machines of other programs, each with a unique id", async () => {
  const harness = await openHarness();
  const [one, two] = [program(harness), program(harness)];
  const eye = await connectViewer(harness);
  await harness.eventually(() => [...eye.rows.values()].filter(({ kind }) => kind === "guest").length === 6, "both programs");
  const got = receive(harness);
  const actors = () =>
    got.flatMap((event) => (event.type === "@xstate.actor" && event.sessionId.startsWith("guest") ? [event] : []));
  await harness.eventually(() => actors().length === 6, "their machines");
  const roots = actors().filter(({ name }) => name === "lamp");
  expect(new Set(roots.map(({ sessionId }) => sessionId)).size).toBe(2);
  const ids = roots.map(({ sessionId }) => sessionId);
  for (const { name, parentId } of actors()) if (name !== "lamp") expect(ids).toContain(parentId ?? "");
  two.actor.send({ type: "enter" });
  const seen = await harness.eventually(
    () => got.find((event) => event.type === "@xstate.event" && event.event.type === "enter"),
    "an event",
  );
  expect(ids).toContain(seen.sessionId);
  one.inspector.stop();
  two.inspector.stop();
  await eye.close();
  await harness.close();
}, 30_000);

test("limits the size, number and rate of frames from programs, and ignores invalid frames", async () => {
  const harness = await openHarness();
  const eye = await connectViewer(harness);
  const socket = new WebSocket(socketUrl(harness, "/inspector/ws"));
  let closedWith = 0;
  socket.onclose = ({ code }) => {
    closedWith = code;
  };
  await new Promise<void>((resolve) => {
    socket.onopen = () => resolve();
  });
  const guests = () => [...eye.rows.values()].filter(({ kind }) => kind === "guest");
  const frame = (sessionId: string, more: object = {}) =>
    socket.send(JSON.stringify({ type: "@xstate.actor", name: sessionId, sessionId, definition: '{"id":"m"}', ...more }));
  for (const nonsense of ["", "{", "[]", "null", '{"type":"@xstate.actor"}', `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`])
    socket.send(nonsense);
  frame("first", { snapshot: { status: "active", value: "a", context: { big: "x".repeat(20_000) } } });
  frame("nested", {
    snapshot: { status: "active", value: "a", context: JSON.parse(`${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`) },
  });
  for (let n = 0; n < 400; n += 1) frame(`m${n}`, { snapshot: { status: "active", value: "a" } });
  await harness.eventually(() => guests().length >= 200, "the maximum number of actors");
  eye.say({ choose: guests()[0]?.id });
  const chosen = await harness.eventually(() => eye.batches.find((batch) => batch.chosen)?.chosen, "the chosen one");
  expect(chosen.context).toEqual({ context: "omitted: too large" });
  // More frames per second than the limit: the rest is dropped, and the number of dropped frames is reported.
  const tick = JSON.stringify({
    type: "@xstate.snapshot",
    sessionId: "first",
    event: { type: "tick" },
    snapshot: { value: "b" },
  });
  const flood = (frames: number) => {
    for (let n = 0; n < frames; n += 1) socket.send(tick);
  };
  flood(3_000);
  const dropped = () => eye.events.reduce((sum, { more }) => sum + Number(more?.framesLeftOut ?? 0), 0);
  // A slow machine reads the first frames over several seconds, each of which has its own limit.
  await harness.eventually(() => {
    flood(20);
    return dropped() > 1_000;
  }, "the number of dropped frames");
  expect(guests()).toHaveLength(200);
  expect(closedWith).toBe(0);
  socket.send("x".repeat(300_000));
  await harness.eventually(() => closedWith !== 0, "the end of the connection");
  expect(closedWith).toBe(1009);
  await harness.eventually(() => guests().every(({ actor }) => actor === "ended"), "the end of its machines");
  await eye.close();
  await harness.close();
}, 60_000);
