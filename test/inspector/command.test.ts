// `genrouter inspector token` against a separate process: the stock client connects to the printed address.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createWebSocketInspector } from "@statelyai/inspect";
import { createActor, createMachine } from "xstate";
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "../cli/captured.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { connectViewer } from "./viewer.ts";

const [on, off] = [makeScratch("inspector-"), makeScratch("inspector-")];
let services: Child[] = [];
let url = "";
beforeAll(async () => {
  const serve = (dir: string, env: Record<string, string>) =>
    start([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir], env);
  services = [
    serve(on, { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" }),
    serve(off, { GENROUTER_INSPECTOR__ENABLED: "off" }),
  ];
  for (const service of services) await service.hears(/^curl /m);
  url = (await services[0]?.hears(/^url (\S+)$/m))?.[1] ?? "";
}, 60_000);
afterAll(async () => {
  for (const service of services) service.kill("SIGTERM");
  for (const service of services) await service.ended;
  dropScratch(on);
  dropScratch(off);
});

test("prints an address that a program can connect to, and the inspector shows its machine", async () => {
  const printed = await runHere(["inspector", "token", "--data", on]);
  expect([printed.exit as number, printed.out]).toEqual([
    0,
    expect.stringMatching(/^url ws:\/\/\S+\/inspector\/ws\?token=gri_\S+\n$/),
  ]);
  const asJson = JSON.parse((await runHere(["inspector", "token", "--json", "--data", on])).out) as Record<string, string>;
  expect(Object.keys(asJson)).toEqual(["token", "url", "expires_at"]);
  expect(Date.parse(asJson.expires_at ?? "")).toBeGreaterThan(Date.now() + 60_000);

  const eye = await connectViewer({ url }, `?token=${asJson.token}`);
  const inspector = createWebSocketInspector({ url: printed.out.trim().split(" ")[1] ?? "" });
  createActor(createMachine({ id: "robot", initial: "idle", states: { idle: {} } }), { inspect: inspector.inspect }).start();
  for (const endMono = performance.now() + 20_000; performance.now() < endMono; await new Promise((wake) => setTimeout(wake, 5)))
    if ([...eye.rows.values()].some(({ name, state }) => name === "robot" && state === "idle")) break;
  expect([...eye.rows.values()].map(({ name }) => name).sort()).toEqual(["ledger", "robot"]);
  inspector.stop();
  await eye.close();
}, 60_000);

test("returns an error with a remedy when the inspector is disabled or no service runs", async () => {
  const refused = await runHere(["inspector", "token", "--data", off]);
  expect([refused.exit as number, refused.err]).toEqual([6, expect.stringContaining("set inspector.enabled to on")]);
  const unserved = await runHere(["inspector", "token", "--data", makeScratch("inspector-")]);
  expect([unserved.exit as number, unserved.err]).toEqual([1, expect.stringContaining("no service is running on")]);
}, 60_000);
