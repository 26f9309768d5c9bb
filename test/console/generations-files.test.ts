// Result files in the console: whole and ranged downloads by session, thumbnails, and bucket files through the service.
import { afterEach, expect, test } from "bun:test";
import type { GenerationDetail, GenerationDto } from "../../src/console/generations-dto.ts";
import { serveThrough } from "../../src/files/proxy-download.ts";
import { type Harness, openHarness } from "../harness.ts";
import { type MakingStage, openMakingStage } from "./generations-fixture.ts";

let harness: Harness;
let stage: MakingStage;
const open = async () => {
  harness = await openHarness();
  stage = openMakingStage(harness);
};
afterEach(async () => {
  await stage.stop();
  await harness.close();
});

const make = async (model: string, input: object) => {
  const headers = { "idempotency-key": "one" };
  const { id } = (await stage.ask<GenerationDto>("POST", "/generations", { body: { model, input }, headers })).body;
  await harness.until(id);
  return (await stage.ask<GenerationDetail>("GET", `/generations/${id}`)).body;
};
const fetchAs = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${stage.url}${path}`, { headers: { cookie: "who=member", ...headers } });

const IMAGE = "sim-image-1";
test("serves a video whole and in ranges, inline, with its hash", async () => {
  await open();
  const { files } = await make("vidmodel-2.0-fast", { prompt: "x", resolution: "480p", duration: 4 });
  const [file] = files;
  const whole = await fetchAs(file?.url ?? "");
  const bytes = await whole.bytes();
  expect(whole.headers.get("content-disposition")).toStartWith("inline");
  expect(bytes.length).toBe(file?.bytes ?? 0);
  expect(new Bun.CryptoHasher("sha256").update(bytes).digest("hex")).toBe(file?.sha256 ?? "");
  const part = await fetchAs(file?.url ?? "", { range: "bytes=10-19" });
  expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 10-19/${bytes.length}`]);
  expect(await part.bytes()).toEqual(bytes.slice(10, 20));
  expect((await fetchAs(file?.url ?? "", { range: `bytes=${bytes.length}-` })).status).toBe(416);
  expect((await fetchAs(file?.url ?? "", { "if-none-match": `"${file?.sha256}"` })).status).toBe(304);
  expect((await fetch(`${stage.url}${file?.url}`)).status).toBe(401);
  expect((await fetchAs((file?.url ?? "").replace(/1$/, "2"))).status).toBe(404);
  expect((await fetchAs(`${file?.url}/thumb`)).status).toBe(404);
});

test("serves a thumbnail with the aspect ratio of the picture, which only the browser may cache", async () => {
  await open();
  const { files, width, height } = await make(IMAGE, { prompt: "a kite" });
  const small = await fetchAs(files[0]?.thumbUrl ?? "");
  expect([small.status, small.headers.get("content-type")]).toEqual([200, "image/webp"]);
  expect(small.headers.get("cache-control")).toStartWith("private");
  const made = await new Bun.Image(await small.bytes()).metadata();
  expect(Math.max(made.width, made.height)).toBeLessThanOrEqual(480);
  expect(made.width / made.height).toBeCloseTo((width ?? 0) / (height ?? 1), 1);
  expect((await fetchAs(files[0]?.thumbUrl ?? "", { "if-none-match": small.headers.get("etag") ?? "" })).status).toBe(304);
});

test("reports deleted files as gone and returns 404 for them", async () => {
  await open();
  const { id, files } = await make(IMAGE, { prompt: "a kite" });
  harness.clock.skip(8 * 86_400_000);
  await harness.components.sweep();
  const reported = (await stage.ask<GenerationDetail>("GET", `/generations/${id}`)).body;
  expect(reported).toMatchObject({ status: "succeeded", areFilesGone: true, files: [] });
  expect((await fetchAs(files[0]?.url ?? "")).status).toBe(404);
});

test("proxies a file from a bucket, whole and in ranges, with our hash as ETag and without the headers of the bucket", async () => {
  await open();
  const bytes = crypto.getRandomValues(new Uint8Array(100_000));
  const bucket = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.get("range") ?? "") ?? [];
      if (request.url.endsWith("unavailable")) return new Response("SlowDown", { status: 503 });
      const headers = { "content-type": "video/mp4", "x-amz-request-id": "canary", etag: '"theirs"' };
      if (from === undefined) return new Response(bytes, { headers });
      const range = { "content-range": `bytes ${from}-${to}/${bytes.length}` };
      return new Response(bytes.slice(Number(from), Number(to) + 1), { status: 206, headers: { ...headers, ...range } });
    },
  });
  try {
    const ask = (headers = {}) => serveThrough(`${bucket.url}x`, "5a".repeat(32), new Request("http://here/", { headers }));
    const whole = await ask();
    expect(await whole.bytes()).toEqual(bytes);
    expect([whole.headers.get("etag"), whole.headers.get("x-amz-request-id")]).toEqual([`"${"5a".repeat(32)}"`, null]);
    const part = await ask({ range: "bytes=5-9" });
    expect([part.status, part.headers.get("content-range"), (await part.bytes()).length]).toEqual([206, "bytes 5-9/100000", 5]);
    expect((await ask({ range: "bytes=5-9", "if-range": '"another"' })).status).toBe(200);
    expect((await ask({ "if-none-match": `"${"5a".repeat(32)}"` })).status).toBe(304);
    await expect(serveThrough(`${bucket.url}unavailable`, "00", new Request("http://here/"))).rejects.toThrow("503");
  } finally {
    await bucket.stop(true);
  }
});
