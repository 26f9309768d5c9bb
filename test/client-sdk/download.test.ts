// Promises of the client's downloads against the real service: a file with its final name is whole, and a break costs no byte twice.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GenerationFailed, GenrouterError, StillRunning, type Succeeded } from "../../client/src/client.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { bedIn, cutAfter, faultOf, sha256Of } from "./fixture.ts";

let harness: Harness;
let video: Succeeded;
/** SHA-256 and size of the video, from the service's own record. */
let whole: { sha256: string; bytes: number };
beforeAll(async () => {
  harness = await openHarness();
  const { client } = bedIn(harness);
  const order = { model: "vidmodel-2.0-fast", input: { prompt: "a red kite", resolution: "480p", duration: 4 } };
  video = await client.wait(await client.submit(order));
  const file = (await harness.ask("HEAD", `/v1/generations/${video.id}/content`)).headers;
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

test("a connection that breaks twice is taken up where it broke, and the file is whole", async () => {
  const path = join(freshDir(), "kite.mp4");
  let cuts = 2;
  const { client, sent, pauses } = bedIn(harness, {
    wire: (through) => async (url, init) => {
      const response = await through(url, init);
      return cuts-- > 0 ? cutAfter(response, 3_000) : response;
    },
  });
  const told: number[] = [];
  await client.download(video, { to: path, onBytes: (_, bytes) => told.push(bytes) });
  // The last byte that is there is asked for again, so that a part that is whole is never past the end.
  expect(ranges(sent)).toEqual([null, "bytes=2999-", "bytes=5998-"]);
  expect(pauses).toHaveLength(2);
  expect(sha256Of(path)).toBe(whole.sha256);
  expect(told.at(-1)).toBe(whole.bytes);
  expect(readdirSync(join(path, ".."))).toEqual(["kite.mp4"]);
});

test("what an aborted download has left is taken up by the next call, also when it was whole already", async () => {
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
  ["holds something else", () => new Uint8Array(3_000).fill(7)],
  ["is longer than the file", () => new Uint8Array(whole.bytes + 10)],
  ["is longer by the one byte that is asked for twice", () => new Uint8Array(whole.bytes + 1)],
])("a part that %s is thrown away, and the file is fetched from its beginning", async (_, bytes) => {
  const path = join(freshDir(), "kite.mp4");
  writeFileSync(partOf(path), bytes());
  const { client, sent } = bedIn(harness);
  await client.download(video, { to: path });
  expect(ranges(sent).at(-1)).toBeNull();
  expect(sha256Of(path)).toBe(whole.sha256);
  expect(readdirSync(join(path, ".."))).toEqual(["kite.mp4"]);
});

test("a file that breaks off again and again is told so; what arrived is kept beside its place, never under its name", async () => {
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

test("a file that comes whole with other bytes is told so, not as one that broke off, and nothing of it is kept", async () => {
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
  expect(fault.message).not.toMatch(/broke off|goes on/);
  expect(readdirSync(dir)).toEqual([]);
});

test("a part that does not say which is a no with the status of its answer", async () => {
  const { client } = bedIn(harness, {
    wire: (through) => async (url, init) => new Response(await (await through(url, init)).bytes(), { status: 206 }),
  });
  const fault = await faultOf(client.download(video, { to: freshDir() }), GenrouterError);
  expect([fault.code, fault.status]).toEqual(["unexpected_answer", 206]);
});

test("an answer that ends early without a broken connection is not taken for the whole file", async () => {
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

test("files of a generation that has none are told by what it is", async () => {
  const { client } = bedIn(harness);
  const order = (prompt: string) => ({ model: "vidmodel-2.0-fast", input: { prompt, resolution: "480p", duration: 4 } });
  const stuck = await client.submit(order("[sim:stuck]"));
  expect((await faultOf(client.download(stuck.id, { to: freshDir() }), StillRunning)).generation.id).toBe(stuck.id);
  const failed = await faultOf(client.wait(await client.submit(order("[sim:fail-later]"))), GenerationFailed);
  await faultOf(client.download(failed.generation, { to: freshDir() }), GenerationFailed);
});

test("a file that is not there is a no that leaves nothing behind", async () => {
  const dir = freshDir();
  const { client } = bedIn(harness, { wire: (through) => (url, init) => through(url.replace("/content", "/content/9"), init) });
  const fault = await faultOf(client.download(video, { to: dir }), GenrouterError);
  expect([fault.code, fault.status, readdirSync(dir)]).toEqual(["not_found", 404, []]);
});
