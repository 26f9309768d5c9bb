// Test of a rolling restart: three processes stop and start again, one after the other, and no request fails.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { type ServicePlace, startService, startSimulator } from "../../src/torture/crash/crash-fixture.ts";
import { type Child, freePort, killAll } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { eventually } from "../eventually.ts";
import { openTestBucket } from "../files/s3/bucket.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { freshDatabase } from "../postgres/databases.ts";
import { dropScratch } from "../scratch.ts";

const NODES = 3;
const CALLERS = 6;
const SPEED = 50;
/** The interval of the load balancer's readiness check. One failure removes the node. */
const LOOK_MS = 100;
/** How long a draining node still accepts requests. On a busy machine the readiness check runs late. */
const LEAVE_S = 2;
const BODY = JSON.stringify({ model: "sim-image-1", input: { prompt: "a kite" } });

type Front = { pick: () => string; stop: () => void };
/** A load balancer: it polls /readyz of each node and sends requests to the ready ones. */
const watchReady = (urls: readonly string[]): Front => {
  const ready = new Set<string>(urls);
  let turn = 0;
  const look = async (url: string): Promise<void> => {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isReady) ready.add(url);
    else ready.delete(url);
  };
  let isOver = false;
  // Checks run one after the other, so a slow success cannot overwrite a later failure.
  const watch = async (url: string): Promise<void> => {
    for (; !isOver; await Bun.sleep(LOOK_MS)) await look(url);
  };
  for (const url of urls) void watch(url);
  return {
    pick: () => {
      const now = urls.filter((url) => ready.has(url));
      turn += 1;
      return now[turn % now.length] ?? "";
    },
    stop: () => {
      isOver = true;
    },
  };
};

describe.skipIf(postgresReason !== undefined)(`three processes${postgresReason ? `: ${postgresReason}` : ""}`, () => {
  let close: () => Promise<void>;
  let places: ServicePlace[];
  const children: Child[] = [];
  let key: string;
  beforeAll(async () => {
    const [database, bucket] = [await freshDatabase(), await openTestBucket(Date.now)];
    const dir = mkdtempSync(join(tmpdir(), "rolling-"));
    const simulator = await startSimulator(PROGRAM, { port: await freePort(), speed: SPEED, log: join(dir, "log") });
    key = newApiKey("test");
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
    await store.commit([{ mutation: "create-account", id: newId("acc"), name: "rolling", atMs: 1 }]);
    await store.commit([
      { mutation: "credit", accountSeq: 1, kind: "topup", credits: 1_000_000, note: "", reference: null, atMs: 1 },
      {
        ...{ mutation: "create-key", id: newId("key"), accountSeq: 1, scope: "generate", name: "", atMs: 1 },
        ...{ hash: hashApiKey(key), start: key.slice(0, 12) },
      },
    ]);
    await store.close();
    const env = {
      ...bucket.settings,
      GENROUTER_STORE__URL: database.url,
      GENROUTER_SERVER__DRAIN_NOTICE_S: String(LEAVE_S),
      GENROUTER_LIMITS__IN_PROGRESS: "100000",
    };
    places = [];
    for (let n = 0; n < NODES; n += 1)
      places.push({ dir: join(dir, `node-${n}`), simulatorUrl: simulator.url, speed: SPEED, port: await freePort(), env });
    for (const place of places) children.push((await startService(PROGRAM, place)).child);
    close = async () => {
      killAll();
      await bucket.close();
      database.drop();
      dropScratch(dir);
    };
  }, 180_000);
  afterAll(() => close());

  test("a rolling restart under load accepts every submission, serves every poll and completes every generation", async () => {
    const front = watchReady(places.map(({ port }) => `http://127.0.0.1:${port}`));
    const answered = new Map<string, number>();
    const ids = new Set<string>();
    let isOver = false;
    const ask = async (path: string, body?: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`${front.pick()}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${key}`, connection: "close" },
        ...(body === undefined ? {} : { body }),
      });
      const shown = (await response.json()) as Record<string, unknown> & { error: { code: string } | null };
      const what = response.ok ? String(response.status) : `${response.status} ${shown.error?.code}`;
      answered.set(what, (answered.get(what) ?? 0) + 1);
      return shown;
    };
    const caller = async (): Promise<void> => {
      while (!isOver) {
        const { id } = await ask("/v1/generations", BODY);
        ids.add(String(id));
        await ask(`/v1/generations/${id}`);
        await Bun.sleep(50);
      }
    };
    const callers = Array.from({ length: CALLERS }, caller);
    for (const [n, place] of places.entries()) {
      const child = children[n];
      child?.kill("SIGTERM");
      expect((await child?.ended)?.code).toBe(0);
      children[n] = (await startService(PROGRAM, place)).child;
    }
    isOver = true;
    await Promise.all(callers);
    expect([...answered.keys()].sort()).toEqual(["200", "202"]);
    expect(answered.get("202")).toBe(ids.size);
    for (const id of ids)
      await eventually(async () => (await ask(`/v1/generations/${id}`)).status === "succeeded", `the end of ${id}`);
    front.stop();
  }, 240_000);
});
