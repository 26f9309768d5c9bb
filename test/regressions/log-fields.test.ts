// Log fields for debugging in bulk: account, route, provider, address, principal, amount.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createRuntimeStats } from "../../src/app/runtime-stats.ts";
import { openControl } from "../../src/cli/control.ts";
import type { EventFields, EventName } from "../../src/logging/events.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";

afterAll(dropDirs);

const PUBLIC = "https://gen.example.com";
let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ env: { GENROUTER_SERVER__TRUSTED_PROXIES: "127.0.0.1", GENROUTER_SERVER__PUBLIC_URL: PUBLIC } });
});
afterAll(() => harness.close());
const lines = (event: EventName): EventFields[] =>
  harness.lines.filter((line) => line.event === event).map(({ fields }) => fields);

test("the line of a completed generation has account, route, state and credits, also if the generation failed", async () => {
  const { accountId } = harness.tenant;
  const made = await harness.submit("sim-image-1", { prompt: "a kite" });
  await harness.until(made.id);
  const failed = await harness.submit("sim-image-1", { prompt: "a kite [sim:fail]" });
  await harness.until(failed.id);
  const end = (id: string) =>
    harness.eventually(() => lines("generation completed").find(({ generation_id }) => generation_id === id), "the log line");
  const [good, bad] = [await end(made.id), await end(failed.id)];
  expect(good).toMatchObject({ account_id: accountId, route_id: "sim-image-1/fal", provider: "fal", state: "succeeded" });
  expect([good.credits, good.provider_credits]).toEqual([expect.any(Number), expect.any(Number)]);
  expect(bad).toMatchObject({
    account_id: accountId,
    route_id: expect.stringContaining("sim-image-1/"),
    state: "failed",
    credits: 0,
  });
  expect(bad).not.toHaveProperty("provider_credits");
});

test("the line of a request has the client address from the trusted proxy, an IPv6 address as its /64", async () => {
  for (const [id, more, address] of [
    ["near", {}, "127.0.0.1"],
    ["far", { "x-forwarded-for": "198.51.100.7, 203.0.113.9" }, "203.0.113.9"],
    ["six", { "x-forwarded-for": "2001:db8:1:2:3:4:5:6" }, "2001:db8:1:2::/64"],
  ] as const) {
    await harness.request("POST", "/v1/generations", { body: {}, headers: { "x-request-id": id, ...more } });
    expect(lines("request completed").find(({ request_id }) => request_id === id)).toMatchObject({ address, status: 400 });
  }
});

test("the line of a control request has principal, target and credits but no note and no email address", async () => {
  const dir = freshDir();
  const reported: EventFields[] = [];
  const counts = { queued: 0, running: 0, live: 0, deadlines: 0, tasks: 0, writes: 0 };
  const close = openControl(
    ...([dir, await harness.admin(), { url: harness.nodeUrl, mode: "test", version: "0.0.0", pid: process.pid }] as const),
    ...([(_: EventName, fields: EventFields = {}) => void reported.push(fields), createRuntimeStats(() => counts)] as const),
  );
  const { accountId } = harness.tenant;
  const run = (...words: string[]) => runHere([...words, "--data", dir]);
  await run("credits", "add", "--account", accountId, "--usd", "12.50", "--note", "a secret note");
  await run("credits", "take", "--account", accountId, "--usd", "1");
  await run("credits", "add", "--account", "acc_unknown", "--usd", "3");
  await run("users", "invite", "who@example.com", "--role", "operator");
  await close();
  const principal = expect.stringMatching(/\S/);
  expect(reported.filter(({ event }) => event !== "listAccounts")).toMatchObject([
    { event: "addCredits", principal, target: accountId, credits: 1_250 },
    { event: "takeCredits", principal, target: accountId, credits: -100 },
    { event: "addCredits", principal, target: "acc_unknown", credits: 300, error_code: expect.any(String) },
    { event: "inviteUser", principal },
  ]);
  expect(JSON.stringify(reported)).not.toMatch(/secret note|who@example/);
});
