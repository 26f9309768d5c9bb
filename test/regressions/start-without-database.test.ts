// Start without a reachable database: the process waits, reports the fault and serves once it connects.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server as NetServer } from "node:net";
import { join } from "node:path";
import { freePort, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { startBucket } from "../cluster/bucket.ts";
import { eventually } from "../eventually.ts";
import { openServer, type Server } from "../postgres/server.ts";

let server: Server;
beforeAll(async () => {
  server = await openServer();
});
afterAll(async () => {
  await server.stop();
  dropDirs();
});

/** Forwards another port to the database. */
const openProxy = (port: number): Promise<NetServer> =>
  new Promise((opened) => {
    const proxy = createServer((caller) => {
      const there = connect(server.port, "127.0.0.1");
      for (const [one, other] of [
        [caller, there],
        [there, caller],
      ] as const) {
        one.pipe(other);
        one.on("error", () => other.destroy());
      }
    }).listen(port, "127.0.0.1", () => opened(proxy));
  });

test("a start waits for an unavailable database, and the metric genrouter_database_available is 0 during both outages", async () => {
  const [port, databasePort, dir] = [await freePort(), await freePort(), freshDir()];
  const bucket = await startBucket(join(freshDir(), "bucket"));
  const node = start([...PROGRAM, "serve", "--simulate", "--port", String(port), "--data", dir], {
    ...bucket.settings("a1/"),
    GENROUTER_STORE__URL: server.url("postgres").replace(`:${server.port}`, `:${databasePort}`),
  });
  /** The gauges that alerts use, as Prometheus scrapes them; empty if the response status is not 200. */
  const gauges = async (): Promise<string[]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
    return answer?.ok ? ((await answer.text()).match(/^genrouter_(?:ready|database_available) \d$/gm) ?? []).toSorted() : [];
  };
  const [UNAVAILABLE, AVAILABLE] = [0, 1].map((value) => [`genrouter_database_available ${value}`, `genrouter_ready ${value}`]);
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
    return answer && { status: answer.status, body: (await answer.json()) as { faults?: string[]; error?: { code: string } } };
  };
  try {
    const waiting = await eventually(async () => {
      const ready = await ask("/readyz");
      return ready?.body.faults?.some((fault) => fault.includes("database")) === true && ready;
    }, "a start that reports the database fault");
    expect(waiting.status).toBe(503);
    expect(waiting.body.faults?.join()).toContain(`127.0.0.1:${databasePort}`);
    expect(await ask("/healthz")).toMatchObject({ status: 200 });
    expect(await gauges()).toEqual(UNAVAILABLE ?? []);
    expect(await ask("/v1/models")).toMatchObject({ status: 503, body: { error: { code: "restarting" } } });
    const page = await fetch(`http://127.0.0.1:${port}/console`, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain(
      `The start waits: the database of GENROUTER_STORE__URL at 127.0.0.1:${databasePort} cannot`,
    );
    const proxy = await openProxy(databasePort);
    expect(await eventually(async () => (await ask("/readyz"))?.status === 200, "a node that is ready")).toBe(true);
    expect(node.output()).toContain("the start waits");
    expect(await gauges()).toEqual(AVAILABLE ?? []);
    await server.kill("fast");
    expect(await eventually(async () => Bun.deepEquals(await gauges(), UNAVAILABLE), "metrics without a database")).toBe(true);
    proxy.close();
  } finally {
    node.kill("SIGKILL");
    await node.ended;
    bucket.child.kill("SIGKILL");
    await server.start();
  }
}, 120_000);

test("a start exits with an error when the server reports that the database does not exist", async () => {
  const node = start([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", freshDir()], {
    GENROUTER_STORE__URL: server.url("nobodys"),
    GENROUTER_FILES__STORE: "s3",
    GENROUTER_S3__BUCKET: "results",
    GENROUTER_S3__ENDPOINT: "http://127.0.0.1:9",
    GENROUTER_S3__ACCESS_KEY: "id",
    GENROUTER_S3__SECRET_KEY: "secret",
  });
  expect(await node.ended).not.toBe(0);
  expect(node.output()).toMatch(/"nobodys" does not exist/);
}, 60_000);

test("the systemd unit sets no limit on restarts, so an outage cannot exhaust them", () => {
  const unit = readFileSync(join(import.meta.dir, "../../deploy/systemd/genrouter.service"), "utf8");
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(unit).not.toMatch(/^StartLimitBurst/m);
  expect(unit).toMatch(/^Restart=on-failure$/m);
});
