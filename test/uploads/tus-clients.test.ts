// Stock tus clients upload over connections that break and through restarts of the service.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { Upload } from "tus-js-client";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { testClock } from "../clock.ts";
import { type Harness, openHarness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";
import { largeSound } from "./large-sound.ts";

setDefaultTimeout(120_000);

const EXTRAS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "genrouter/python");
const python = Bun.which("python3");
const isWithoutTuspy = python === null || !existsSync(join(EXTRAS, "tusclient"));
if (isWithoutTuspy) process.stdout.write("skipped: uploads by tuspy (bash .ci/extras installs tuspy from PyPI)\n");

const MB = 1024 * 1024;
const dir = mkdtempSync(join(tmpdir(), "tus-"));
const clock = testClock(1);
let simulator: Awaited<ReturnType<typeof createSimulator>>;
let harness: Harness;
let proxy: CuttingProxy;
let key = "";
/** Bytes after which the next connections are broken, one after another. */
let cutPoints: number[] = [];

const open = async (): Promise<void> => {
  harness = await openHarness({ dir, clock, simulator });
  proxy.leadTo(harness.url);
};
beforeAll(async () => {
  simulator = await createSimulator({ clock, kindOf: () => undefined });
  proxy = await openCuttingProxy(() => cutPoints.shift());
  await open();
  ({ key } = harness.tenant);
});
afterAll(async () => {
  await proxy.close();
  await harness.close();
  await simulator.stop();
  clock.stop();
  dropScratch(dir);
});

/** Uploads with tus-js-client, which continues by itself after each error. @returns the id of the file */
const uploadWith = (bytes: Buffer, { chunkSize, onProgress }: { chunkSize?: number; onProgress?: (sent: number) => void } = {}) =>
  new Promise<string>((resolve, reject) => {
    let file = "";
    const upload = new Upload(bytes, {
      endpoint: `${proxy.url}/v1/files/uploads`,
      headers: { Authorization: `Bearer ${key}` },
      retryDelays: Array.from({ length: 60 }, () => 50),
      metadata: { filename: "sound.wav" },
      ...(chunkSize ? { chunkSize } : {}),
      ...(onProgress ? { onProgress } : {}),
      onAfterResponse: (_, response) => {
        file = response.getHeader("Genrouter-File") ?? file;
      },
      onSuccess: () => resolve(file),
      onError: reject,
    });
    upload.start();
  });

const sha256Of = async (file: string): Promise<string> => {
  const response = await fetch(`${harness.url}/v1/files/${file}/content`, { headers: { authorization: `Bearer ${key}` } });
  expect(response.status).toBe(200);
  return Bun.SHA256.hash(await response.bytes(), "hex");
};

test("tus-js-client continues an upload over a connection that breaks five times", async () => {
  const bytes = largeSound(20 * MB, 1);
  const before = proxy.cuts();
  proxy.dropConnections();
  cutPoints = [3 * MB, 2 * MB, 4 * MB, 500, MB];
  const file = await uploadWith(bytes);
  expect(proxy.cuts() - before).toBe(5);
  expect(await sha256Of(file)).toBe(Bun.SHA256.hash(bytes, "hex"));
});

test("tus-js-client continues concurrent uploads while the service restarts twice", async () => {
  const sounds = [2, 3, 4].map((seed) => largeSound(6 * MB, seed));
  const pieces = Array.from({ length: 3 }, () => 0);
  let restarts = 0;
  let restarting: Promise<void> = Promise.resolve();
  const restart = async (): Promise<void> => {
    await harness.crash();
    await open();
  };
  const onProgress = (n: number) => (sent: number) => {
    pieces[n] = Math.max(pieces[n] ?? 0, sent);
    if (restarts >= 2 || pieces.reduce((sum, each) => sum + each, 0) < (restarts + 1) * 5 * MB) return;
    restarts += 1;
    restarting = restarting.then(restart);
  };
  const files = await Promise.all(
    sounds.map((bytes, n) => uploadWith(bytes, { chunkSize: 512 * 1024, onProgress: onProgress(n) })),
  );
  await restarting;
  expect(restarts).toBe(2);
  for (const [n, file] of files.entries()) expect(await sha256Of(file)).toBe(Bun.SHA256.hash(sounds[n] ?? "", "hex"));
  await harness.components.sweep();
  expect(await harness.store.removableParts(clock.nowMs() + 1, 10)).toEqual([]);
});

const PROGRAM = `
import sys
from tusclient import client
path, url, key, size = sys.argv[1:]
api = client.TusClient(url, headers={"Authorization": "Bearer " + key})
api.uploader(path, chunk_size=int(size), retries=20, retry_delay=0.05, upload_checksum=True).upload()
`;

test.skipIf(isWithoutTuspy)("tuspy uploads pieces with checksums over a connection that breaks", async () => {
  const bytes = largeSound(3 * MB, 5);
  const path = join(dir, "sound.wav");
  writeFileSync(path, bytes);
  cutPoints = [MB];
  const child = Bun.spawn([python ?? "python3", "-c", PROGRAM, path, `${proxy.url}/v1/files/uploads`, key, String(700_000)], {
    env: { PATH: process.env.PATH ?? "", PYTHONPATH: EXTRAS },
    stdout: "pipe",
    stderr: "pipe",
  });
  const errors = await new Response(child.stderr).text();
  expect([await child.exited, errors]).toEqual([0, ""]);
  const { data } = (await harness.request("GET", "/v1/files?limit=1", { key })).body as {
    data: { id: string; sha256: string }[];
  };
  expect(data[0]?.sha256).toBe(Bun.SHA256.hash(bytes, "hex"));
});
