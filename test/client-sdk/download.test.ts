// Downloads of the client package against the service: a file with its final name is complete, and an interrupted one resumes.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GenerationFailed, GenrouterError, StillRunning, type Succeeded } from "../../client/src/client.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { bedIn, cutAfter, faultOf, sha256Of } from "./fixture.ts";

let harness: Harness;
let video: Succeeded;
/** SHA-256 and size of the video, from the response headers of the service. */
let whole: { sha256: string; bytes: number };
beforeAll(async () => {
  harness = await openHarness();
  const { client } = bedIn(harness);
  const order = { model: "vidmodel-2.0-fast", input: { prompt: "a red kite", resolution: "480p", duration: 4 } };
  video = await client.wait(await client.submit(order));
  const file = (await harness.request("HEAD", `/v1/generations/${video.id}/content`)).headers;
  whole = { sha256: file.get("etag")?.replaceAll('"', "") ?? "", bytes: Number(file.get("content-length")) };
  expect(whole.bytes).toBeGreaterThan(9_000);
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const isFile = (path: string) => path.endsWith("/content");
const ranges = (sent: { path: string; range: string | null }[]) =>
  sent.filter(({ path }) => isFile(path)).map(({ range }) => range);
const partOf = (path: string) => `${path}.${video.id}-1.part`;

test("download resumes after each of two broken connections and saves the complete file", async () => {
  const path = join(freshDir(), "kite.mp4");
  let cuts = 2;
  const { client, sent, pauses } = bedIn(harness, {
    wire: (through) => async (url, init) => {
      const response = await through(url, init);
      return cuts-- > 0 ? cutAfter(response, 3_000) : response;
    },
  });
  const reported: number[] = [];
  await client.download(video, { to: path, onBytes: (_, bytes) => reported.push(bytes) });
  // The client requests the last byte again, so that the range of a complete part does not begin after the end.
  expect(ranges(sent)).toEqual([null, "bytes=2999-", "bytes=5998-"]);
  expect(pauses).toHaveLength(2);
  expect(sha256Of(path)).toBe(whole.sha256);
  expect(reported.at(-1)).toBe(whole.bytes);
  expect(readdirSync(join(path, ".."))).toEqual(["kite.mp4"]);
});

test("download resumes the .part file of an aborted call, also when the .part file is complete", async () => {
  const path = join(freshDir(), "kite.mp4");
  const controller = new AbortController();
  const first = bedIn(harness, { wire: (through) => async (url, init) => cutAfter(await through(url, init), 7_000) });
  const work = first.client.download(video, {
    to: path,
    signal: controller.signal,
    onBytes: () => controller.abort(new Error("enough")),
  });
  expect((await faultOf(work, Error)).message).toBe("enough");
  expect(readdirSync(join(path, ".."))).toEqual([`kite.mp4.${video.id}-1.part`]);
  const have = readFileSync(partOf(path)).length;
  const second = bedIn(harness);
  await second.client.download(video.id, { to: path });
  expect(ranges(second.sent)).toEqual([`bytes=${have - 1}-`]);
  expect(sha256Of(path)).toBe(whole.sha256);

  writeFileSync(partOf(path), readFileSync(path));
  const third = bedIn(harness);
  await third.client.download(video, { to: path });
  expect(ranges(third.sent)).toEqual([`bytes=${whole.bytes - 1}-`]);
  expect(sha256Of(path)).toBe(whole.sha256);
});

test.each<[string, () => Uint8Array]>([
  ["has other content", () => new Uint8Array(3_000).fill(7)],
  ["is longer than the file", () => new Uint8Array(whole.bytes + 10)],
  ["is longer by the one byte that is requested twice", () => new Uint8Array(whole.bytes + 1)],
])("download discards a .part file that %s and downloads the file from its beginning", async (_, bytes) => {
  const path = join(freshDir(), "kite.mp4");
  writeFileSync(partOf(path), bytes());
  const { client, sent } = bedIn(harness);
  await client.download(video, { to: path });
  expect(ranges(sent).at(-1)).toBeNull();
  expect(sha256Of(path)).toBe(whole.sha256);
  expect(readdirSync(join(path, ".."))).toEqual(["kite.mp4"]);
});

test("download fails with broken_file after five breaks in a row and keeps the received bytes as a .part file", async () => {
  const path = join(freshDir(), "kite.mp4");
  const { client, sent } = bedIn(harness, {
    wire: (through) => async (url, init) => {
      const response = await through(url, init);
      return init.headers && new Headers(init.headers).has("range") ? cutAfter(response, 1) : cutAfter(response, 3_000);
    },
  });
  const fault = await faultOf(client.download(video, { to: path }), GenrouterError);
  expect([fault.code, ranges(sent).length]).toEqual(["broken_file", 5]);
  expect(fault.message).toBe(`file 1 of ${video.id} broke off 5 times in a row; downloading again resumes`);
  expect(readdirSync(join(path, ".."))).toEqual([`kite.mp4.${video.id}-1.part`]);
});

test("download fails with broken_file and keeps no file when a complete response does not match its SHA-256", async () => {
  const dir = freshDir();
  const { client, sent } = bedIn(harness, {
    wire: (through) => async (url, init) => {
      const response = await through(url, init);
      return new Response((await response.bytes()).fill(7), { status: response.status, headers: response.headers });
    },
  });
  const fault = await faultOf(client.download(video, { to: dir, tries: 3 }), GenrouterError);
  expect([fault.code, fault.status, ranges(sent)]).toEqual(["broken_file", 0, [null, null, null]]);
  expect(fault.message).toContain(`file 1 of ${video.id} came whole, but its bytes do not match its SHA-256`);
  expect(fault.message).not.toMatch(/broke off|continues/);
  expect(readdirSync(dir)).toEqual([]);
});

test("download fails with unexpected_answer when a 206 response has no Content-Range", async () => {
  const { client } = bedIn(harness, {
    wire: (through) => async (url, init) => new Response(await (await through(url, init)).bytes(), { status: 206 }),
  });
  const fault = await faultOf(client.download(video, { to: freshDir() }), GenrouterError);
  expect([fault.code, fault.status]).toEqual(["unexpected_answer", 206]);
});

test("download resumes after a response that ends early without a connection error", async () => {
  const path = join(freshDir(), "kite.mp4");
  let isFirst = true;
  const { client, sent } = bedIn(harness, {
    wire: (through) => async (url, init) => {
      const response = await through(url, init);
      if (!isFirst) return response;
      isFirst = false;
      return new Response((await response.bytes()).slice(0, 100), { headers: response.headers });
    },
  });
  await client.download(video, { to: path });
  expect(ranges(sent)).toEqual([null, "bytes=99-"]);
  expect(sha256Of(path)).toBe(whole.sha256);
});

test("download fails with StillRunning for a running generation and with GenerationFailed for a failed one", async () => {
  const { client } = bedIn(harness);
  const order = (prompt: string) => ({ model: "vidmodel-2.0-fast", input: { prompt, resolution: "480p", duration: 4 } });
  const stuck = await client.submit(order("[sim:stuck]"));
  expect((await faultOf(client.download(stuck.id, { to: freshDir() }), StillRunning)).generation.id).toBe(stuck.id);
  const failed = await faultOf(client.wait(await client.submit(order("[sim:fail-later]"))), GenerationFailed);
  await faultOf(client.download(failed.generation, { to: freshDir() }), GenerationFailed);
});

test("download fails with not_found for a missing file and leaves no file behind", async () => {
  const dir = freshDir();
  const { client } = bedIn(harness, { wire: (through) => (url, init) => through(url.replace("/content", "/content/9"), init) });
  const fault = await faultOf(client.download(video, { to: dir }), GenrouterError);
  expect([fault.code, fault.status, readdirSync(dir)]).toEqual(["not_found", 404, []]);
});
