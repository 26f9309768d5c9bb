// Access to the live inspector: disabled, foreign origins, forwarded requests, tokens and the simulator.
import { expect, test } from "bun:test";
import { setUp } from "../console/visitor.ts";
import { type Harness, openHarness } from "../harness.ts";
import { connectViewer, tokenOf } from "./viewer.ts";

const PATHS = ["/inspector/ws", "/inspector/api/live"];

/** The response to a rejected WebSocket request. */
const knock = async (harness: Harness, path: string, headers: Record<string, string> = {}) => {
  const { status, body } = await harness.request("GET", path, {
    key: null,
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    },
  });
  return { status, code: (body.error as { code?: string } | undefined)?.code };
};

test.each(PATHS)("%s returns 404 when the inspector is disabled, with or without a token", async (path) => {
  const harness = await openHarness({ env: { GENROUTER_INSPECTOR__ENABLED: "off" } });
  expect(harness.components.issueToken).toBe(null);
  expect(await knock(harness, path)).toEqual({ status: 404, code: "not_found" });
  expect(await knock(harness, `${path}?token=gri_made-up`)).toEqual({ status: 404, code: "not_found" });
  await harness.close();
});

test.each(PATHS)("%s rejects foreign origins, forwarded requests and foreign host names", async (path) => {
  const harness = await openHarness();
  const own = new URL(harness.url).host;
  const refused = { status: 403, code: "unauthorized" };
  for (const origin of ["https://evil.example", "null", `http://${own}.evil.example`, "http://127.0.0.1:1"])
    expect(await knock(harness, path, { origin })).toEqual(refused);
  // A name that an attacker points at this machine: origin and host agree, but it is still not local.
  expect(await knock(harness, path, { origin: "http://evil.example", host: "evil.example" })).toMatchObject({ status: 401 });
  expect(await knock(harness, path, { host: "evil.example" })).toMatchObject({ status: 401 });
  expect(await knock(harness, path, { "x-forwarded-for": "203.0.113.9" })).toMatchObject({ status: 401 });
  await harness.close();
});

test("requires sign-in from this machine when a public address is set", async () => {
  const harness = await openHarness({ env: { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" } });
  for (const path of PATHS) expect(await knock(harness, path)).toEqual({ status: 401, code: "unauthorized" });
  await harness.close();
});

test("accepts a token from any origin until it expires", async () => {
  const harness = await openHarness({ factor: 0, env: { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" } });
  const { token, expiresAtMs } = tokenOf(harness, "viewer");
  const eye = await connectViewer(harness, `?token=${token}`, { origin: "http://localhost:5173" });
  expect(eye.batches[0]?.hello).toEqual({ prompts: false, role: "viewer" });
  expect(await knock(harness, "/inspector/ws?token=gri_made-up")).toEqual({ status: 401, code: "unauthorized" });
  harness.clock.skip(expiresAtMs - harness.clock.nowMs());
  expect(await knock(harness, `/inspector/ws?token=${token}`)).toEqual({ status: 401, code: "unauthorized" });
  await eye.close();
  await harness.close();
});

test("rejects a token of a session after its sign-out", async () => {
  const harness = await openHarness({ factor: 0, env: { GENROUTER_SERVER__PUBLIC_URL: "" } });
  const ada = await setUp(harness);
  const { token } = await ada.ok("POST", "/inspector/api/token");
  const eye = await connectViewer(harness, `?token=${token}`, { origin: "http://localhost:5173" });
  expect(eye.batches[0]?.hello?.role).toBe("operator");
  await eye.close();
  await ada.ok("DELETE", "/console/api/session");
  expect(await knock(harness, `/inspector/ws?token=${token}`)).toEqual({ status: 401, code: "unauthorized" });
  await harness.close();
});

test("returns 426 for a request without an upgrade and 405 for other methods", async () => {
  const harness = await openHarness();
  for (const path of PATHS) {
    expect((await harness.request("GET", path, { key: null })).status).toBe(426);
    const posted = await harness.request("POST", path, { key: null, body: {} });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
  await harness.close();
});

test("returns the reason for denied access to requests without an upgrade, too", async () => {
  const ask = async (env: Record<string, string>) => {
    const harness = await openHarness({ env });
    const statuses = await Promise.all(PATHS.map(async (path) => (await harness.request("GET", path, { key: null })).status));
    await harness.close();
    return statuses;
  };
  expect(await ask({ GENROUTER_INSPECTOR__ENABLED: "off" })).toEqual([404, 404]);
  expect(await ask({ GENROUTER_SERVER__PUBLIC_URL: "https://api.example" })).toEqual([401, 401]);
});

test("accepts programs of this machine and pages of its own origin with the simulator", async () => {
  const harness = await openHarness();
  const { port } = new URL(harness.url);
  for (const headers of [{}, { origin: harness.url }, { origin: `http://localhost:${port}`, host: `localhost:${port}` }]) {
    const eye = await connectViewer(harness, "", headers as Record<string, string>);
    await eye.close();
  }
  await harness.close();
});
