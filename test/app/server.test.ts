// Start and stop of the whole service: order of its log events, and a start that fails.
import { afterAll, expect, test } from "bun:test";
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import type { EventName } from "../../src/logging/events.ts";
import type { Store } from "../../src/store/store.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";

afterAll(dropDirs);

type Wrap = (store: Store) => Store;

/** Starts a service in `dir`, and records its log events and the close of its store. */
const start = async (dir: string, port: number, lines: string[], wrap: Wrap = (store) => store) => {
  const telemetry = testTelemetry((event: EventName) => void lines.push(event));
  const settings = readSettings({ GENROUTER_DATA__DIR: dir, GENROUTER_SERVER__PORT: String(port) });
  const around = (store: Store): Store => ({
    ...wrap(store),
    close: async () => {
      lines.push("store closed");
      await store.close();
    },
  });
  return await createServer(settings, {
    simulate: true,
    telemetry,
    around,
    beforeListening: async () => void lines.push("before listening"),
  });
};

test("the service listens before it recovers, and drains before its store is closed", async () => {
  const lines: string[] = [];
  const service = await start(freshDir(), 0, lines);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  expect(lines).toEqual(["before listening", "service listening", "recovery finished"]);
  await service.drain();
  expect(lines.slice(3)).toEqual(["service draining", "store closed", "service stopped"]);
  expect(await fetch(`${service.url}/readyz`).catch(() => "refused")).toBe("refused");
});

test("a start at a port in use closes everything, so that the next start can use the data directory", async () => {
  const occupied = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const dir = freshDir();
  const lines: string[] = [];
  try {
    await expect(start(dir, occupied.port ?? 0, lines)).rejects.toMatchObject({ code: "EADDRINUSE" });
  } finally {
    await occupied.stop(true);
  }
  expect(lines).toEqual(["before listening", "store closed"]);
  const service = await start(dir, 0, lines);
  await service.drain();
  expect(lines.slice(2, 5)).toEqual(["before listening", "service listening", "recovery finished"]);
});

/** Rejects the call of the store with this number; `made` counts them. */
const failingCall = (number: number): { wrap: Wrap; made: () => number } => {
  let made = 0;
  const wrap = (store: Store): Store =>
    Object.fromEntries(
      Object.entries(store).map(([name, member]) => [
        name,
        typeof member !== "function"
          ? member
          : (...args: unknown[]) => {
              made += 1;
              return made === number ? Promise.reject(new Error(`${name} failed`)) : Reflect.apply(member, undefined, args);
            },
      ]),
    ) as Store;
  return { wrap, made: () => made };
};

test("a start that fails at any call of the store closes it once, and the next start succeeds", async () => {
  const dir = freshDir();
  let isComplete = false;
  let failures = 0;
  for (let number = 1; !isComplete; number += 1) {
    const lines: string[] = [];
    const { wrap, made } = failingCall(number);
    const service = await start(dir, 0, lines, wrap).catch((fault: Error) => {
      expect(fault.message).toEndWith("failed");
      failures += 1;
      return null;
    });
    isComplete = made() < number;
    await service?.drain();
    expect([number, lines.filter((line) => line === "store closed").length]).toEqual([number, 1]);
  }
  expect(failures).toBeGreaterThan(5);
});
