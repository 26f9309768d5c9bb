// Tests of downloads (§4.3, §4.4) and signed links: precedence of errors, and headers of a successful response.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GenerationRecord, Output } from "../../src/domain/types.ts";
import { errorOf, type Harness, keepFile, openHarness } from "./harness.ts";

let harness: Harness;
let done: GenerationRecord;
const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
const sha256 = Bun.SHA256.hash(bytes, "hex");
const pictures = (count: number): Output => ({
  kind: "image",
  files: Array.from({ length: count }, (_, i) => ({ n: i + 1, sha256, bytes: bytes.length, mime: "image/png" })),
  width: 10,
  height: 10,
});
const succeeded = { status: "succeeded", costCredits: 5, completedAtMs: 1, output: pictures(3) } as const;

beforeAll(async () => {
  harness = await openHarness();
  done = harness.addRecord(succeeded);
  for (const n of [1, 2, 3]) await keepFile(harness.files, done.id, n, bytes);
});
afterAll(() => harness[Symbol.asyncDispose]());

describe("errors of /content", () => {
  const BAD_N = ["0", "1", "100", "999", "02", "2.0", "+2", "-2", "2e0", "0x2", "%202", "2%20", "%D9%A2", "two", "2%2F3", "%00"];
  const make = (more: Partial<GenerationRecord> = {}) => harness.addRecord(more).id;
  const STATES: [name: string, id: () => string][] = [
    ["unknown", () => "gen_00000000000000000000z"],
    ["another account's", () => make({ ...succeeded, accountSeq: 99 })],
    ["queued", make],
    ["running", () => make({ status: "running" })],
    ["failed", () => make({ status: "failed", error: { code: "timed_out", message: "x" } })],
    ["expired", () => make({ ...succeeded, filesExpiredAtMs: 2 })],
    ["succeeded", () => done.id],
  ];
  test.each(STATES)("returns 404 for an n other than 2 to 99 in plain digits, for a generation that is %s", async (_name, id) => {
    for (const n of BAD_N)
      expect(await errorOf(await harness.call(`/v1/generations/${id()}/content/${n}`))).toMatchObject({
        status: 404,
        code: "not_found",
      });
  });

  const ANSWERS: [state: string, first: [number, string], second: [number, string]][] = [
    ["unknown", [404, "not_found"], [404, "not_found"]],
    ["another account's", [404, "not_found"], [404, "not_found"]],
    ["queued", [409, "not_ready"], [409, "not_ready"]],
    ["running", [409, "not_ready"], [409, "not_ready"]],
    ["failed", [404, "not_found"], [404, "not_found"]],
    ["expired", [404, "not_found"], [404, "not_found"]],
  ];
  test.each(ANSWERS)("returns the specified error for a generation that is %s", async (state, first, second) => {
    const id = STATES.find(([name]) => name === state)?.[1]() ?? "";
    for (const [path, [status, code]] of [
      ["/content", first],
      ["/content/2", second],
      ["/content/99", second],
    ] as const)
      expect(await errorOf(await harness.call(`/v1/generations/${id}${path}`))).toMatchObject({ status, code });
  });

  test("returns 404 when n is greater than the number of files", async () => {
    expect((await harness.call(`/v1/generations/${done.id}/content/3`)).status).toBe(200);
    expect((await errorOf(await harness.call(`/v1/generations/${done.id}/content/4`))).status).toBe(404);
  });

  test('returns the message "files expired" when the retention of the files has ended', async () => {
    const id = make({ ...succeeded, filesExpiredAtMs: 2 });
    expect((await errorOf(await harness.call(`/v1/generations/${id}/content`))).message).toBe("files expired");
  });

  test("returns the same body for another account's generation as for one that does not exist, on every path", async () => {
    const foreign = make({ ...succeeded, accountSeq: 99 });
    for (const path of ["", "/content", "/content/2"]) {
      const answers = await Promise.all(
        [foreign, "gen_00000000000000000000z"].map(async (id) => (await harness.call(`/v1/generations/${id}${path}`)).text()),
      );
      expect(answers[0]).toBe(answers[1] ?? "");
    }
  });

  const BAD_IDS = [
    "x".repeat(81),
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f",
    "%00",
    "gen_%C3%A9",
    "a%20b",
    "%zz",
    "a.b",
    "a%2Fcontent",
  ];
  test.each(BAD_IDS)("returns 404 for the malformed id %s", async (id) => {
    for (const path of ["", "/content", "/content/2"])
      expect(await errorOf(await harness.call(`/v1/generations/${id}${path}`))).toMatchObject({ status: 404, code: "not_found" });
  });

  test("returns 404 and logs the generation and file number when a file is missing before its retention ends", async () => {
    const id = make({ ...succeeded, completedAtMs: Date.now() });
    expect(await errorOf(await harness.call(`/v1/generations/${id}/content`))).toMatchObject({ status: 404, code: "not_found" });
    expect(harness.lines.at(-3)).toMatchObject({ event: "file missing", fields: { generation_id: id, file_no: 1 } });
  });

  test('returns "files expired" when a file past its retention is deleted but its record is not marked yet', async () => {
    const id = make(succeeded);
    expect(await errorOf(await harness.call(`/v1/generations/${id}/content`))).toMatchObject({
      status: 404,
      message: "files expired",
    });
  });
});

describe("a file", () => {
  const path = () => `/v1/generations/${done.id}/content`;

  test("is returned whole, with its type, length, ETag and file name, and with nosniff", async () => {
    const response = await harness.call(path());
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    const { headers } = response;
    expect(headers.get("content-type")).toBe("image/png");
    expect(headers.get("content-length")).toBe("1000");
    expect(headers.get("accept-ranges")).toBe("bytes");
    expect(headers.get("etag")).toBe(`"${sha256}"`);
    expect(headers.get("content-disposition")).toContain(`filename="${done.id}-1.png"`);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toStartWith("private");
    expect(headers.get("genrouter-version")).toBe("2026-10-19");
    expect(headers.get("x-request-id")).not.toBeNull();
  });

  test.each([
    ["bytes=0-0", 206, "bytes 0-0/1000", 1],
    ["bytes=100-199", 206, "bytes 100-199/1000", 100],
    ["bytes=990-", 206, "bytes 990-999/1000", 10],
    ["bytes=-10", 206, "bytes 990-999/1000", 10],
    ["bytes=990-5000", 206, "bytes 990-999/1000", 10],
    ["bytes=0-0,5-6", 200, null, 1000],
    ["pages=1-2", 200, null, 1000],
  ] as const)("with Range %s returns %d", async (range, status, contentRange, length) => {
    const response = await harness.call(path(), { headers: { range } });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-range")).toBe(contentRange);
    expect((await response.arrayBuffer()).byteLength).toBe(length);
  });

  test("with a range past the end returns 416 with the specified error body", async () => {
    const response = await harness.call(path(), { headers: { range: "bytes=1000-" } });
    expect(response.headers.get("content-range")).toBe("bytes */1000");
    expect(await errorOf(response)).toMatchObject({ status: 416, code: "invalid_request" });
  });

  test("returns 304 when If-None-Match contains its ETag", async () => {
    const response = await harness.call(path(), { headers: { "if-none-match": `W/"x", "${sha256}"` } });
    expect([response.status, await response.text()]).toEqual([304, ""]);
    expect((await harness.call(path(), { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  test("returns its length without a body for HEAD", async () => {
    const response = await harness.call(path(), { method: "HEAD" });
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "1000", ""]);
  });
});

describe("a signed link", () => {
  const link = () => harness.links.sign(done.id, 2);
  const open = (url: string, init: RequestInit = {}) => harness.call(url.slice(harness.url.length), { ...init, key: null });

  test("returns its file without a key, to pages of any origin, and with no referrer", async () => {
    const response = await open(link());
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect(response.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect((await open(link(), { headers: { range: "bytes=0-9" } })).status).toBe(206);
    expect((await open(link(), { method: "HEAD" })).headers.get("content-length")).toBe("1000");
  });

  test("equals the link that a poll returns", async () => {
    const polled = (await (await harness.call(`/v1/generations/${done.id}`)).json()) as { output: { urls: string[] } };
    expect(polled.output.urls[1]).toBe(harness.links.sign(done.id, 2, ".png"));
  });

  const ALTERED: [name: string, of: (url: string) => string][] = [
    ["another position", (url) => url.replace("/2?", "/1?")],
    ["another generation", (url) => url.replace(done.id, harness.addRecord(succeeded).id)],
    ["a later end", (url) => url.replace(/exp=(\d+)/, (_, exp) => `exp=${Number(exp) + 1}`)],
    ["another key id", (url) => url.replace(/kid=[^&]+/, "kid=x")],
    ["another signature", (url) => url.replace(/sig=./, (text) => `sig=${text.endsWith("A") ? "B" : "A"}`)],
    ["no signature", (url) => url.replace(/&sig=.*/, "")],
    ["no query", (url) => url.replace(/\?.*/, "")],
  ];
  test.each(ALTERED)("with %s returns 403 with the specified error body", async (_name, of) => {
    expect(await errorOf(await open(of(link())))).toMatchObject({ status: 403, code: "not_found" });
  });

  test("opens a link whose path ends in any extension, which the signature does not cover", async () => {
    for (const ending of [".mp4", ".png", ""]) expect((await open(harness.links.sign(done.id, 2, ending))).status).toBe(200);
    expect((await open(harness.links.sign(done.id, 2, ".mp4").replace("/2.mp4", "/1.mp4"))).status).toBe(403);
  });

  test.each(["/files/x/1", `/files/gen_00000000000000000000z/0`, "/files/gen_00000000000000000000z/100", "/files/..%2f/1"])(
    "returns 404 for %s, which names no file",
    async (path) => {
      expect(await errorOf(await harness.call(path, { key: null }))).toMatchObject({ status: 404, code: "not_found" });
    },
  );

  test("returns 404 after the retention of the files has ended, even if its signature is valid", async () => {
    const gone = harness.addRecord({ ...succeeded, filesExpiredAtMs: 3 });
    expect(await errorOf(await open(harness.links.sign(gone.id, 1)))).toMatchObject({ status: 404, message: "files expired" });
  });

  test("is valid for at most one hour and returns 403 afterwards", async () => {
    const url = link();
    harness.advance(54 * 60_000);
    expect((await open(url)).status).toBe(200);
    harness.advance(6 * 60_000 + 1);
    const error = await errorOf(await open(url));
    expect(error).toMatchObject({ status: 403, code: "not_found" });
    expect(error.message).toContain("expired");
    expect((await open(link())).status).toBe(200);
  });
});
