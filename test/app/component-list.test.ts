// Component list and connection: order of starts and stops, and failures of both.
import { expect, test } from "bun:test";
import { type Component, createComponentList } from "../../src/app/component-list.ts";
import { createConnection } from "../../src/app/connection.ts";

/** A list of components that record their starts and stops. */
const openList = (...components: Component[]) => {
  const calls: string[] = [];
  const list = createComponentList();
  for (const { name, start, stop } of components)
    list.add({
      name,
      ...(start && {
        start: async () => {
          calls.push(`start ${name}`);
          await start();
        },
      }),
      stop: async () => {
        calls.push(`stop ${name}`);
        await stop?.();
      },
    });
  return { list, calls };
};
const nothing = () => undefined;
const failing = (reason: string) => () => {
  throw new Error(reason);
};

test("components start in order and stop in reverse, each after the one before", async () => {
  const slow = () => Bun.sleep(5);
  const { list, calls } = openList(
    { name: "store", start: slow, stop: slow },
    { name: "engine", start: nothing, stop: slow },
    { name: "HTTP", start: slow },
  );
  await list.start();
  await list.stop();
  expect(calls).toEqual(["start store", "start engine", "start HTTP", "stop HTTP", "stop engine", "stop store"]);
});

test("a failed start stops what has started in reverse and starts nothing more", async () => {
  const { list, calls } = openList(
    { name: "store", start: nothing },
    { name: "engine", start: nothing, stop: failing("a consequence") },
    { name: "HTTP", start: failing("the port is in use") },
    { name: "backups", start: nothing },
  );
  expect(await list.start().catch(String)).toBe("Error: the port is in use");
  expect(calls).toEqual(["start store", "start engine", "start HTTP", "stop engine", "stop store"]);
});

test("a component without a start is stopped although the list has never started", async () => {
  const { list, calls } = openList({ name: "store" }, { name: "HTTP", start: nothing }, { name: "engine" });
  await list.stop();
  expect(calls).toEqual(["stop engine", "stop store"]);
});

test("a component without a start is stopped if a start before it fails", async () => {
  const { list, calls } = openList({ name: "HTTP", start: failing("the port is in use") }, { name: "engine" });
  expect(await list.start().catch(String)).toBe("Error: the port is in use");
  expect(calls).toEqual(["start HTTP", "stop engine"]);
});

test("a stop that throws does not prevent the others, and the first error is thrown at the end", async () => {
  const { list, calls } = openList(
    { name: "store", start: nothing },
    { name: "engine", start: nothing, stop: failing("the engine failed") },
    { name: "HTTP", start: nothing, stop: () => Promise.reject(new Error("the server failed")) },
  );
  await list.start();
  expect(await list.stop().catch(String)).toBe("Error: the server failed");
  expect(calls.slice(3)).toEqual(["stop HTTP", "stop engine", "stop store"]);
});

test("a second stop does not stop a component again", async () => {
  const { list, calls } = openList({ name: "store", start: nothing });
  await list.start();
  await list.stop();
  await list.stop();
  expect(calls).toEqual(["start store", "stop store"]);
});

test("two stops at the same time stop each component once and in order", async () => {
  const { list, calls } = openList({ name: "store", stop: () => Bun.sleep(5) }, { name: "engine", stop: () => Bun.sleep(5) });
  await Promise.all([list.stop(), list.stop().then(() => calls.push("stopped"))]);
  expect(calls).toEqual(["stop engine", "stop store", "stopped"]);
});

test("a stop during the start waits for the component that starts, starts nothing more and fails the start", async () => {
  const { list, calls } = openList({ name: "listener", start: () => Bun.sleep(5) }, { name: "recovery", start: nothing });
  const started = list.start().catch(String);
  await list.stop();
  expect(await started).toBe("Error: the service was stopped during its start");
  expect(calls).toEqual(["start listener", "stop listener"]);
});

test("a component that is added after the start is a defect", async () => {
  const { list } = openList();
  await list.start();
  expect(() => list.add({ name: "backups", start: nothing })).toThrow("backups: is added after the start");
});

test("a connection returns its component, and throws if it is used too early or connected twice", () => {
  const supervisor = createConnection<{ report(): string }>("supervisor");
  expect(supervisor.target).toThrow("supervisor: is used before it is connected");
  supervisor.connect({ report: () => "reported" });
  expect(supervisor.target().report()).toBe("reported");
  expect(() => supervisor.connect({ report: () => "" })).toThrow("supervisor: is already connected");
});
