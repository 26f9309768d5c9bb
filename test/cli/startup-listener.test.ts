// Answers while the service starts: a page that reloads for browsers, and the JSON error for every other client.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { createStartingServer, type StartingServer } from "../../src/cli/startup-listener.ts";
import { readSettings } from "../../src/config/load.ts";

const open = (): StartingServer => createStartingServer(readSettings({ GENROUTER_SERVER__PORT: "0" }));
let starting: StartingServer;
beforeAll(() => {
  starting = open();
});
afterAll(() => starting.stop());

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const ask = (path: string, init: RequestInit = {}, { url } = starting) => fetch(new URL(path, url), init);

test("a browser reads a page that reloads until the service is ready", async () => {
  for (const path of ["/", "/console/generations", "/docs"]) {
    const page = await ask(path, { headers: HTML });
    expect([path, page.status, page.headers.get("content-type")]).toEqual([path, 503, "text/html; charset=utf-8"]);
    expect(["retry-after", "cache-control", "vary"].map((name) => page.headers.get(name))).toEqual(["5", "no-store", "Accept"]);
    const html = await page.text();
    expect(html).toContain("<h1>The service is starting</h1>");
    expect(html).toContain('<meta http-equiv="refresh" content="5">');
    expect(html).not.toContain("The start waits");
  }
  const head = await ask("/", { method: "HEAD", headers: HTML });
  expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([503, "text/html; charset=utf-8", ""]);
});

test("the page loads only files that are served during the start, and runs no script", async () => {
  const page = await ask("/", { headers: HTML });
  expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*style-src 'self'$/);
  const html = await page.text();
  expect(html).not.toMatch(/<script|<[^>]*\sstyle=/);
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
  expect(links.length).toBe(2);
  for (const link of links) expect([link, (await ask(link)).status]).toEqual([link, 200]);
  expect((await ask("/docs/assets/none.css")).status).toBe(404);
});

test("every other client and every path of the API has the JSON error", async () => {
  const answers = await Promise.all([
    ask("/console/api/me", { headers: { accept: "*/*" } }),
    ask("/", { headers: { accept: "application/json" } }),
    ask("/v1/models", { headers: HTML }),
    ask("/v1", { headers: HTML }),
    ask("/console", { method: "POST", headers: HTML }),
    ask("/readyz", { headers: HTML }),
  ]);
  for (const answer of answers) {
    expect([answer.status, answer.headers.get("content-type")]).toEqual([503, "application/json"]);
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(await answer.json()).toMatchObject({ error: { code: "restarting" } });
  }
  for (const path of ["/healthz", "/metrics"]) expect([path, (await ask(path, { headers: HTML })).status]).toEqual([path, 200]);
});

/** Sends bytes as they are, for requests that `fetch` cannot send. @returns the status line */
const statusOf = (request: string): Promise<string> =>
  new Promise((answered, failed) => {
    const socket = connect(Number(starting.url.port), "127.0.0.1", () => socket.write(request));
    socket.once("data", (bytes) => {
      answered(String(bytes).split("\r\n")[0] ?? "");
      socket.destroy();
    });
    socket.once("error", failed);
  });

test.each(["GET /healthz HTTP/1.0\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n"])(
  "a probe without a usable host is answered during the start: %j",
  async (request) => {
    expect(await statusOf(request)).toMatch(/^HTTP\/1\.[01] (200|400) /);
  },
);

test("the page states what the start waits for, as /readyz does, and escapes it", async () => {
  const waiting = open();
  try {
    waiting.withoutStore('the database at <db> "main" cannot be reached');
    const ready = (await (await ask("/readyz", {}, waiting)).json()) as { faults: string[] };
    expect(ready.faults).toEqual(['the database at <db> "main" cannot be reached']);
    expect(await (await ask("/", { headers: HTML }, waiting)).text()).toContain(
      "<p>The start waits: the database at &lt;db&gt; &quot;main&quot; cannot be reached.</p>",
    );
  } finally {
    await waiting.stop();
  }
});
