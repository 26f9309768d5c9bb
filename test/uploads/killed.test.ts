// Resumable uploads whose service and clients are killed at random moments: no file is damaged, and the sweep leaves no bytes.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DetailedError, Upload } from "tus-js-client";
import { endow, startService, startSimulator, type Tenant } from "../../src/torture/crash/crash-fixture.ts";
import { freePort } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { openHarness } from "../harness.ts";
import { openCuttingProxy } from "./cutting-proxy.ts";
import { largeSound } from "./large-sound.ts";

setDefaultTimeout(240_000);
afterAll(dropDirs);

const KILLS = 8;
const CLIENTS = 3;
const DAY_MS = 86_400_000;
const MB = 1024 * 1024;
const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
/** An even number of bytes. */
const sizeOf = (): number => MB + 2 * Math.floor(Math.random() * MB);

type Client = { tenant: Tenant; url: string };
type Acknowledged = { tenant: Tenant; file: string; sha256: string };

/**
 * Uploads a sound, and continues after each error. @returns the id of the file; undefined if the client ended as by a kill
 */
const uploadOnce = (bytes: Buffer, { tenant, url }: Client, endsAfter: number) =>
  new Promise<string | undefined>((resolve, reject) => {
    let file: string | undefined;
    const upload = new Upload(bytes, {
      endpoint: `${url}/v1/files/uploads`,
      headers: { Authorization: `Bearer ${tenant.key}` },
      retryDelays: Array.from({ length: 500 }, () => 100),
      chunkSize: 300_000,
      // Every error of a service that was killed or starts is followed by a further try.
      onShouldRetry: (fault) => {
        const status = fault instanceof DetailedError ? (fault.originalResponse?.getStatus() ?? 0) : 0;
        return status === 0 || status === 400 || status === 409 || status === 423 || status >= 500;
      },
      onAfterResponse: (_, response) => {
        file = response.getHeader("Genrouter-File") ?? file;
      },
      onProgress: (sent) => {
        if (sent >= endsAfter) void upload.abort().then(() => resolve(undefined));
      },
      onSuccess: () => resolve(file),
      // Its account has reached the limit of open uploads. The other clients continue.
      onError: (fault) => {
        const isFull = fault instanceof DetailedError && fault.originalResponse?.getStatus() === 429;
        if (isFull) setTimeout(resolve, 100);
        else reject(fault);
      },
    });
    upload.start();
  });

/** Files with bytes below a directory. */
const filesBelow = (path: string): string[] =>
  readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => /blob_[^/]*\.\d/.test(name));

test("uploads killed at random moments leave whole files and no bytes without a file", async () => {
  const data = join(freshDir(), "data");
  mkdirSync(data);
  const tenants = await endow(
    data,
    Array.from({ length: CLIENTS }, () => 100_000),
  );
  const simulator = await startSimulator(PROGRAM, { port: await freePort(), speed: 10, log: join(freshDir(), "simulator.log") });
  // Every third connection breaks.
  const proxy = await openCuttingProxy(() => (Math.random() < 0.33 ? Math.ceil(Math.random() * MB) : undefined));
  const acknowledged: Acknowledged[] = [];
  let isOver = false;
  const client = async (tenant: Tenant, n: number): Promise<void> => {
    for (let turn = 0; !isOver; turn += 1) {
      const bytes = largeSound(sizeOf(), n * 1000 + turn + 1);
      // A client dies at its third and eighth upload and begins a new one. An account has at most 5 open uploads, and one whose
      // creation was not answered stays open as well.
      const endsAfter = turn === 2 || turn === 7 ? MB / 2 : Number.POSITIVE_INFINITY;
      const file = await uploadOnce(bytes, { tenant, url: proxy.url }, endsAfter);
      if (file !== undefined) acknowledged.push({ tenant, file, sha256: Bun.SHA256.hash(bytes, "hex") });
    }
  };
  const serve = () => startService(PROGRAM, { dir: data, simulatorUrl: simulator.url, speed: 1 });
  let service = await serve();
  proxy.leadTo(service.url);
  const clients = Promise.all(tenants.map(client));
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(50 + Math.random() * 700);
    service.child.kill("SIGKILL");
    await service.child.ended;
    service = await serve();
    proxy.leadTo(service.url);
  }
  // A slow machine completes few uploads between the kills.
  while (acknowledged.length <= CLIENTS) await pause(20);
  isOver = true;
  await clients;
  service.child.kill("SIGKILL");
  simulator.child.kill("SIGKILL");
  await Promise.all([service.child.ended, simulator.child.ended, proxy.close()]);

  const clock = testClock(0, Date.now());
  const harness = await openHarness({ dir: data, clock });
  try {
    for (const { tenant, file, sha256 } of acknowledged) {
      const response = await fetch(`${harness.url}/v1/files/${file}/content`, {
        headers: { authorization: `Bearer ${tenant.key}` },
      });
      expect([response.status, Bun.SHA256.hash(await response.bytes(), "hex")]).toEqual([200, sha256]);
    }
    clock.skip(2 * DAY_MS);
    await harness.components.sweep();
    expect(filesBelow(join(data, "upload-parts"))).toEqual([]);
    const stored = new Map<string, { bytes: number; accountSeq: number }>();
    for (const { accountSeq } of tenants) {
      const files = await harness.store.uploadedFiles(accountSeq, null, 0, 10_000);
      for (const { blobId, bytes } of files) stored.set(`${blobId}.1`, { bytes, accountSeq });
      const used = [...stored.values()].filter((blob) => blob.accountSeq === accountSeq);
      expect(await harness.store.uploadedBytes(accountSeq)).toBe(used.reduce((sum, blob) => sum + blob.bytes, 0));
    }
    const names = filesBelow(join(data, "uploads")).map((path) => path.split("/").at(-1) ?? "");
    expect(names.sort()).toEqual([...stored.keys()].sort());
    expect(acknowledged.length).toBeGreaterThan(CLIENTS);
    process.stdout.write(
      `${KILLS} kills, ${proxy.cuts()} broken connections, ${acknowledged.length} acknowledged files, ${names.length} stored\n`,
    );
  } finally {
    await harness.close();
    clock.stop();
  }
});
