// Tests access to /metrics: with the operator token, or without one only from this machine and not through a proxy.
import { afterAll, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { type Harness, openHarness } from "../harness.ts";

const TOKEN = "operator-token-0123456789abcdef";
const open: Harness[] = [];
const harnessWith = async (env: Record<string, string> = {}): Promise<Harness> => {
  const harness = await openHarness({ factor: 0, env });
  open.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of open) await harness.close();
});
const codeOf = (text: string): string => (JSON.parse(text) as { error: { code: string; message: string } }).error.code;

test("with an operator token, /metrics returns 200 for the token and 401 with a challenge for any other credential", async () => {
  const harness = await harnessWith({ GENROUTER_OPERATOR__TOKEN: TOKEN });
  const right = await harness.request("GET", "/metrics", { key: TOKEN });
  expect([right.status, right.headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(right.headers.get("cache-control")).toBe("no-store");
  expect(right.text).toContain("genrouter_build_info{");
  // Also through a proxy: a client with the token may be anywhere.
  expect((await harness.request("GET", "/metrics", { key: TOKEN, headers: { "x-forwarded-for": "203.0.113.9" } })).status).toBe(
    200,
  );
  expect((await harness.request("HEAD", "/metrics", { key: TOKEN })).status).toBe(200);
  const wrong: (string | null)[] = [
    null,
    "",
    `${TOKEN}x`,
    TOKEN.slice(0, -1),
    TOKEN.toUpperCase(),
    harness.tenant.key,
    `${TOKEN}, Bearer ${TOKEN}`,
  ];
  for (const key of wrong) {
    const { status, headers, text } = await harness.request("GET", "/metrics", { key });
    expect([key, status, headers.get("www-authenticate"), codeOf(text)]).toEqual([
      key,
      401,
      'Bearer realm="genrouter"',
      "unauthorized",
    ]);
    expect(text).not.toContain("genrouter_build_info");
    expect(headers.get("x-request-id")).toMatch(/^req_/);
  }
});

test("without an operator token, /metrics returns 200 to this machine and 403 to requests with proxy headers", async () => {
  const harness = await harnessWith();
  expect((await harness.request("GET", "/metrics", { key: null })).status).toBe(200);
  const handedOn: Record<string, string>[] = [
    { "x-forwarded-for": "127.0.0.1" },
    { "x-forwarded-proto": "https" },
    { "x-forwarded-host": "localhost" },
    { forwarded: "for=127.0.0.1" },
    { via: "1.1 proxy" },
    { "x-real-ip": "127.0.0.1" },
  ];
  for (const headers of handedOn) {
    const { status, text } = await harness.request("GET", "/metrics", { key: null, headers });
    expect([headers, status, codeOf(text)]).toEqual([headers, 403, "unauthorized"]);
    expect(text).toContain("Set operator.token");
  }
  // A customer's key changes nothing here.
  expect((await harness.request("GET", "/metrics")).status).toBe(200);
  // Without a socket, the client's address is unknown.
  expect((await harness.components.http.handle(new Request("http://localhost/metrics"))).status).toBe(403);
});

const elsewhere = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;
if (elsewhere === undefined) console.warn("this machine has only loopback addresses: the test from another address is skipped");

test.skipIf(elsewhere === undefined)("without an operator token, /metrics returns 403 to a non-loopback client", async () => {
  const harness = await harnessWith();
  const { url } = await harness.components.http.listen({ host: "0.0.0.0", port: 0 });
  const answer = await fetch(`http://${elsewhere}:${new URL(url).port}/metrics`);
  expect(answer.status).toBe(403);
  expect(codeOf(await answer.text())).toBe("unauthorized");
});

test("/metrics returns 405 with Allow for methods other than GET and HEAD", async () => {
  const harness = await harnessWith();
  for (const method of ["POST", "PUT", "DELETE"]) {
    const { status, headers } = await harness.request(method, "/metrics", { key: null });
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
});
