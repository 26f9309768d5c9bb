// Serving result files: ranges, conditions, headers, and memory with slow clients.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveFile } from "../../src/files/serve.ts";
import { eventually } from "../eventually.ts";

const TEN = "0123456789";
const SHA = new Bun.CryptoHasher("sha256").update(TEN).digest("hex");
const LARGE_BYTES = 64 * 1024 * 1024;

let dir = "";
let base = "";
let server: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "serve-"));
  await writeFile(join(dir, "ten"), TEN);
  await writeFile(join(dir, "large"), new Uint8Array(LARGE_BYTES));
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const url = new URL(request.url);
      return serveFile({
        blob: Bun.file(join(dir, url.pathname.slice(1))),
        mime: url.searchParams.get("mime") ?? "video/mp4",
        sha256: SHA,
        name: "gen_1abc-1.mp4",
        request,
        cacheControl: "private, max-age=60",
      });
    },
  });
  base = server.url.href;
});
afterAll(async () => {
  await server.stop(true);
  await rm(dir, { recursive: true, force: true });
});

const ask = async (headers: Record<string, string> = {}, method = "GET", path = "ten") => {
  const response = await fetch(base + path, { method, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe("ranges", () => {
  const rows: [string, number, string, string | null][] = [
    ["", 200, TEN, null],
    ["bytes=0-0", 206, "0", "bytes 0-0/10"],
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=0-9", 206, TEN, "bytes 0-9/10"],
    ["bytes=0-", 206, TEN, "bytes 0-9/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=7-99", 206, "789", "bytes 7-9/10"],
    ["bytes=9-9", 206, "9", "bytes 9-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=-10", 206, TEN, "bytes 0-9/10"],
    ["bytes=-99", 206, TEN, "bytes 0-9/10"],
    ["Bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=10-", 416, "", "bytes */10"],
    ["bytes=10-12", 416, "", "bytes */10"],
    ["bytes=99999999999999999999-", 416, "", "bytes */10"],
    ["bytes=-0", 416, "", "bytes */10"],
    ["bytes=4-2", 200, TEN, null],
    ["bytes=-", 200, TEN, null],
    ["bytes=a-b", 200, TEN, null],
    ["bytes=1-2,4-5", 200, TEN, null],
    ["bytes=0-0,-1", 200, TEN, null],
    ["items=0-1", 200, TEN, null],
    ["bytes 0-1", 200, TEN, null],
  ];
  test.each(rows)("Range %p: returns %d with body %p", async (range, status, text, contentRange) => {
    const answer = await ask(range ? { range } : {});
    expect([answer.status, answer.text, answer.headers.get("content-range")]).toEqual([status, text, contentRange]);
    expect(answer.headers.get("content-length")).toBe(String(text.length));
    expect(answer.headers.get("accept-ranges")).toBe("bytes");
  });
});

describe("conditions", () => {
  const etag = `"${SHA}"`;
  const rows: [Record<string, string>, number, string][] = [
    [{ "if-none-match": etag }, 304, ""],
    [{ "if-none-match": `W/${etag}` }, 304, ""],
    [{ "if-none-match": `"x", ${etag}` }, 304, ""],
    [{ "if-none-match": "*" }, 304, ""],
    [{ "if-none-match": '"x"' }, 200, TEN],
    [{ "if-none-match": SHA }, 200, TEN],
    [{ "if-none-match": etag, range: "bytes=2-4" }, 304, ""],
    [{ "if-none-match": '"x"', range: "bytes=2-4" }, 206, "234"],
    [{ "if-range": etag, range: "bytes=2-4" }, 206, "234"],
    [{ "if-range": '"x"', range: "bytes=2-4" }, 200, TEN],
    [{ "if-range": `W/${etag}`, range: "bytes=2-4" }, 200, TEN],
    [{ "if-range": "Wed, 21 Oct 2026 07:28:00 GMT", range: "bytes=2-4" }, 200, TEN],
    [{ "if-range": '"x"', range: "bytes=99-" }, 200, TEN],
    [{ "if-range": etag }, 200, TEN],
  ];
  test.each(rows)("%p: returns %d", async (headers, status, text) => {
    const answer = await ask(headers);
    expect([answer.status, answer.text, answer.headers.get("etag")]).toEqual([status, text, etag]);
  });
});

test("HEAD returns the headers of GET without the body", async () => {
  const [head, whole] = [await ask({}, "HEAD"), await ask()];
  expect([head.status, head.text]).toEqual([200, ""]);
  for (const name of ["content-length", "content-type", "etag", "accept-ranges", "content-disposition", "cache-control"])
    expect(`${name} ${head.headers.get(name)}`).toBe(`${name} ${whole.headers.get(name)}`);
  expect((await ask({ "if-none-match": `"${SHA}"` }, "HEAD")).status).toBe(304);
  expect((await ask({ range: "bytes=2-4" }, "HEAD")).headers.get("content-length")).toBe("10");
});

describe("headers that stop browsers from rendering a file as a page", () => {
  const rows: [string, string][] = [
    ["video/mp4", "inline"],
    ["image/webp", "inline"],
    ["audio/mpeg", "inline"],
    ["text/html", "attachment"],
    ["image/svg+xml", "attachment"],
    ["application/octet-stream", "attachment"],
  ];
  test.each(rows)("serves %s as %s", async (mime, disposition) => {
    for (const headers of [{}, { range: "bytes=1-2" }, { range: "bytes=1-2,3-4" }]) {
      const answer = await ask(headers, "GET", `ten?mime=${encodeURIComponent(mime)}`);
      expect(answer.headers.get("content-disposition")).toBe(`${disposition}; filename="gen_1abc-1.mp4"`);
      expect(answer.headers.get("content-type")).toBe(mime);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-security-policy")).toBe("sandbox");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      expect(answer.headers.get("cache-control")).toBe("private, max-age=60");
    }
  });
});

test.each([
  ["whole file", ""],
  ["one range", "bytes=1-"],
  ["several ranges, served as the whole file", "bytes=0-1,5-6"],
])("keeps little memory for 200 clients that do not read their 64 MiB response (%s)", async (_, range) => {
  let open = 0;
  const sockets: { end: () => void }[] = [];
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  for (let n = 0; n < 200; n++) {
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port ?? 0,
      socket: {
        data: (socket) => {
          // The first bytes have arrived: the response has started. The client reads nothing more.
          open++;
          socket.pause();
        },
      },
    });
    socket.write(`GET /large HTTP/1.1\r\nHost: x\r\n${range ? `Range: ${range}\r\n` : ""}\r\n`);
    sockets.push(socket);
  }
  while (open < 200) await new Promise((resolve) => setImmediate(resolve));
  // Only memory that stays counts, not what passes through while the connection buffers fill.
  let [grownMb, still] = [0, 0];
  await eventually(() => {
    Bun.gc(true);
    const nowMb = (process.memoryUsage().rss - before) / 1024 / 1024;
    still = Math.abs(nowMb - grownMb) < 1 ? still + 1 : 0;
    grownMb = nowMb;
    return still === 20 || grownMb > 1000;
  }, "memory that grows no more");
  for (const socket of sockets) socket.end();
  // 200 whole files would be 12,800 MiB.
  expect(grownMb).toBeLessThan(150);
});
