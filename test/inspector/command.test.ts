// `genrouter inspector token` against a separate process: the stock receiver connects to the printed address.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createWebSocketReceiver } from "@statelyai/inspect";
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

test("prints an address from which the stock receiver gets the actors of the service", async () => {
  const printed = await runHere(["inspector", "token", "--data", on]);
  expect([printed.exit as number, printed.out]).toEqual([
    0,
    expect.stringMatching(/^url ws:\/\/\S+\/inspector\/ws\?token=gri_\S+\n$/),
  ]);
  const asJson = JSON.parse((await runHere(["inspector", "token", "--json", "--data", on])).out) as Record<string, string>;
  expect(Object.keys(asJson)).toEqual(["token", "url", "expires_at"]);
  expect(Date.parse(asJson.expires_at ?? "")).toBeGreaterThan(Date.now() + 60_000);

  const eye = await connectViewer({ url }, `?token=${asJson.token}`);
  const first = await new Promise<string>((announced) => {
    createWebSocketReceiver({ server: printed.out.trim().split(" ")[1] ?? "" }).subscribe(({ sessionId }) =>
      announced(sessionId),
    );
  });
  expect(first).toBe("ledger");
  await eye.close();
}, 60_000);

test("returns an error with a remedy when the inspector is disabled or no service runs", async () => {
  const refused = await runHere(["inspector", "token", "--data", off]);
  expect([refused.exit as number, refused.err]).toEqual([6, expect.stringContaining("set inspector.enabled to on")]);
  const unserved = await runHere(["inspector", "token", "--data", makeScratch("inspector-")]);
  expect([unserved.exit as number, unserved.err]).toEqual([1, expect.stringContaining("no service is running on")]);
}, 60_000);
