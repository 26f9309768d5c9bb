// Requests without a key: large assets, and access to /metrics.
import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import origin from "../../src/http/pages/assets/scalar.json";
import { type Harness, openHarness } from "../harness.ts";

const harnesses: Harness[] = [];
const open = async (env: Record<string, string> = {}): Promise<Harness> => {
  const harness = await openHarness({ env });
  harnesses.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of harnesses) await harness.close();
});

test("serves the uncompressed API reference script to 64 concurrent clients without an event loop stall", async () => {
  const harness = await open();
  const html = (await harness.request("GET", "/docs", { key: null })).text;
  const [path = ""] = /\/docs\/assets\/scalar-\w+\.js/.exec(html) ?? [];
  const answers = await Promise.all(
    Array.from({ length: 64 }, () => fetch(`${harness.nodeUrl}${path}`, { headers: { "accept-encoding": "identity" } })),
  );
  expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get("content-encoding")}`))).toEqual(
    new Set(["200 null"]),
  );
  const [first, ...others] = answers;
  const hash = createHash("sha256").update((await first?.bytes()) ?? "");
  expect(hash.digest("hex")).toBe(origin.sha256);
  // Reading all of them would keep the event loop busy on the side of the test.
  for (const { body } of others) await body?.cancel();
});

test.each([
  "rebind.evil.example",
  "rebind.evil.example:8080",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "example@127.0.0.1",
])("/metrics rejects a request from this machine with the foreign Host %s", async (host) => {
  const harness = await open();
  // An invalid host name is rejected before anything else.
  const refused = host.includes("@") ? 400 : 403;
  expect((await harness.request("GET", "/metrics", { key: null, headers: { host } })).status).toBe(refused);
});

test("/metrics requires the operator token if server.public_url is set, because a proxy connects from this machine", async () => {
  const harness = await open({ GENROUTER_SERVER__PUBLIC_URL: "https://gen.example.com" });
  const { status, text } = await harness.request("GET", "/metrics", { key: null });
  expect([status, text]).toEqual([403, expect.stringContaining("server.public_url")]);
  const named = await open({
    GENROUTER_SERVER__PUBLIC_URL: "https://gen.example.com",
    GENROUTER_OPERATOR__TOKEN: "t".repeat(40),
  });
  expect((await named.request("GET", "/metrics", { key: "t".repeat(40) })).status).toBe(200);
});
