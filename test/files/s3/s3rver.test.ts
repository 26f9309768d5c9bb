// S3 storage over s3rver: small files, multipart uploads, links, ranges, a restart and deletion.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/domain/clock.ts";
import { generationId } from "../../../src/domain/ids.ts";
import type { GenerationRecord } from "../../../src/domain/types.ts";
import { createSpool } from "../../../src/files/inline-spool.ts";
import { createLocalStorage, pathOfFile } from "../../../src/files/local.ts";
import { createS3Storage } from "../../../src/files/s3/s3-storage.ts";
import { type Child, freePort, start } from "../../../src/torture/crash/processes.ts";
import { uploaded } from "../../api/upload-requests.ts";
import { testClock } from "../../clock.ts";
import { openHarness } from "../../harness.ts";
import { newGenerationSeq } from "../../new-generation.ts";
import { dropScratch } from "../../scratch.ts";

/** s3rver runs in Node. */
const SERVER = `
const S3rver = require("s3rver");
const [port, directory] = process.argv.slice(1);
new S3rver({ port: Number(port), directory, silent: true, configureBuckets: [{ name: "results" }] })
  .run().then(() => console.log("listening"));`;

let dir = "";
let server: Child;
let endpoint = "";
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "s3rver-"));
  mkdirSync(join(dir, "objects"));
  const port = await freePort();
  endpoint = `http://127.0.0.1:${port}`;
  server = start(["node", "-e", SERVER, String(port), join(dir, "objects")]);
  await server.hears(/listening/);
});
afterAll(async () => {
  server.kill("SIGKILL");
  await server.ended;
  dropScratch(dir);
});

const WORDS = { mime: "video/mp4", disposition: 'inline; filename="a.mp4"', cacheControl: "private, max-age=3600" };
const records = new Map<string, GenerationRecord>();
const open = async (shared = false) => {
  const local = await createLocalStorage(join(dir, "files"));
  const clock = systemClock();
  const lines: string[] = [];
  const kept = createS3Storage({
    settings: {
      endpoint,
      region: "us-east-1",
      bucket: "results",
      prefix: "Küche 1/",
      access_key: "S3RVER",
      secret_key: "S3RVER",
    },
    moves: true,
    shared,
    local,
    spool: await createSpool(join(dir, "spool"), clock.nowMs),
    // Skips the grace period of a local copy.
    clock: { ...clock, after: (ms, then) => clock.after(ms === 30_000 ? 0 : ms, then) },
    chance: () => 0.5,
    report: (event, { reason = "" }) => void lines.push(`${event}: ${reason}`),
    reportedFaults: new Set(),
    recordOf: async (id) => records.get(id),
    linkS: 600,
  });
  const keep = async (...all: Buffer[]): Promise<string> => {
    const seq = newGenerationSeq(Date.now());
    const id = generationId(seq);
    const files = all.map((bytes, at) => {
      const file = { n: at + 1, sha256: Bun.SHA256.hash(bytes, "hex"), bytes: bytes.length, mime: "video/mp4" };
      const object = kept.files.objectOf?.(file);
      return { ...file, ...(object === undefined ? {} : { object }) };
    });
    const output = { kind: "video", files };
    records.set(id, { seq, id, status: "succeeded", output, filesExpiredAtMs: null } as unknown as GenerationRecord);
    for (const [at, file] of files.entries()) {
      const incoming = await kept.files.receive(id, file.n);
      await incoming.write(all[at] ?? Buffer.alloc(0));
      await incoming.keep(file);
    }
    return id;
  };
  const moved = async (id: string, n = 1) => {
    for (const endMono = performance.now() + 20_000; existsSync(join(dir, "files", pathOfFile(id, n))); await Bun.sleep(5))
      if (performance.now() > endMono) throw new Error(`${id} was not moved: ${lines.join("; ")}`);
  };
  const link = (id: string, n = 1, method: "GET" | "HEAD" = "GET") => {
    const object = records.get(id)?.output?.files.find((file) => file.n === n)?.object;
    return kept.files.link?.(id, n, { method, object, ...WORDS }) ?? "";
  };
  return { ...kept, keep, moved, link, lines };
};

test("uploads a small file and one in three parts unchanged, and serves them by link, whole and in part", async () => {
  const store = await open();
  store.begin();
  const [small, large] = [randomBytes(1000), randomBytes(20 * 1024 * 1024 + 3)];
  const id = await store.keep(small, large);
  for (const n of [1, 2]) await store.moved(id, n);
  expect(await store.files.open(id, 2)).toBeUndefined();
  const there = await fetch(store.link(id, 2));
  expect([there.status, there.headers.get("content-type")]).toEqual([200, "video/mp4"]);
  expect(there.headers.get("content-disposition")).toBe(WORDS.disposition);
  expect(large.equals(await there.bytes())).toBe(true);
  expect(small.equals(await (await fetch(store.link(id))).bytes())).toBe(true);
  const part = await fetch(store.link(id, 2), { headers: { range: "bytes=9000000-9000009" } });
  expect([part.status, large.subarray(9_000_000, 9_000_010).equals(await part.bytes())]).toEqual([206, true]);
  const head = await fetch(store.link(id, 2, "HEAD"), { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, String(large.length)]);
  await store.files.remove(id);
  for (const n of [1, 2]) expect((await fetch(store.link(id, n))).status).toBe(404);
  expect(store.lines).toEqual([]);
  await store.stop();
}, 60_000);

test("uploads a file that a former process left waiting", async () => {
  const first = await open();
  const id = await first.keep(Buffer.from("waits"));
  await first.stop();
  const next = await open();
  next.begin();
  await next.moved(id);
  expect(await (await fetch(next.link(id))).text()).toBe("waits");
  expect(next.lines).toEqual([]);
  await next.stop();
}, 60_000);

test("uploads files of nodes that share a bucket immediately and unchanged, and removes them with their inline results", async () => {
  const [node, other] = [await open(true), await open(true)];
  const [small, large] = [randomBytes(1000), randomBytes(20 * 1024 * 1024 + 3)];
  const id = await node.keep(small, large);
  for (const n of [1, 2]) expect(existsSync(join(dir, "files", pathOfFile(id, n)))).toBe(false);
  expect(large.equals(await (await fetch(other.link(id, 2))).bytes())).toBe(true);
  const ref = `${id.slice("gen_".length)}-1`;
  const answered = await node.spool.keep(ref, 1, [Buffer.from("inside "), Buffer.from("an answer")], "image/png");
  expect(await (await other.spool.open(answered))?.text()).toBe("inside an answer");
  // A file that was kept on the disk of one node while the bucket was unavailable becomes the same object when it is shared.
  const here = (await node.spool.keepHere?.(ref, 1, [Buffer.from("inside an answer")], "image/png")) ?? "";
  expect(await (await node.spool.open(here))?.text()).toBe("inside an answer");
  expect([await node.spool.share?.(here, "image/png"), await node.spool.share?.(answered, "image/png")]).toEqual([
    answered,
    answered,
  ]);
  await other.files.remove(id);
  for (const n of [1, 2]) expect((await fetch(node.link(id, n))).status).toBe(404);
  expect(await node.spool.open(answered)).toBeUndefined();
  expect([...node.lines, ...other.lines]).toEqual([]);
  await node.stop();
  await other.stop();
}, 60_000);

test("an uploaded file of several parts is stored in the bucket, served in ranges and deleted", async () => {
  const env = {
    ...{ GENROUTER_FILES__STORE: "s3", GENROUTER_S3__ENDPOINT: endpoint, GENROUTER_S3__BUCKET: "results" },
    ...{ GENROUTER_S3__ACCESS_KEY: "S3RVER", GENROUTER_S3__SECRET_KEY: "S3RVER", GENROUTER_S3__PREFIX: "own/" },
  };
  // s3rver checks the time of a signature, so the clock is that of the system.
  const clock = testClock(1, Date.now());
  const harness = await openHarness({ env, clock });
  const wav = wavOf(20_000_000);
  const file = await uploaded(harness, wav);
  expect([file.kind, file.bytes]).toEqual(["audio", wav.length]);
  const content = `/v1/files/${file.id}/content`;
  const { status, headers } = await harness.request("GET", content);
  expect(status).toBe(302);
  const location = headers.get("location") ?? "";
  expect(Bun.SHA256.hash(await (await fetch(location)).bytes(), "hex")).toBe(file.sha256);
  const part = await fetch(location, { headers: { range: "bytes=19999990-20000009" } });
  expect([part.status, (await part.bytes()).length]).toEqual([206, 20]);
  expect((await harness.request("DELETE", `/v1/files/${file.id}`)).status).toBe(200);
  await harness.components.sweep();
  expect((await fetch(location)).status).toBe(404);
  await harness.close();
  clock.stop();
}, 60_000);

/** Silence of that many bytes behind its header. */
const wavOf = (bytes: number): Uint8Array => {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + bytes, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(2, 22);
  head.writeUInt32LE(48_000, 24);
  head.writeUInt32LE(192_000, 28);
  head.writeUInt16LE(4, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(bytes, 40);
  return Buffer.concat([head, Buffer.alloc(bytes)]);
};
