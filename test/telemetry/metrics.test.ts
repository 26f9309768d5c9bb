// Tests /metrics: every metric of METRICS is exported with its type and labels, and its values match what happened.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { METRICS } from "../../src/telemetry/metrics.ts";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { backUp } from "../backup/fixture.ts";
import { type Harness, openHarness } from "../harness.ts";
import { hasPromtool, promtool } from "../promtool.ts";
import { dropScratch } from "../scratch.ts";
import { type Scraped, scraped, typesIn } from "./scraped.ts";

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
/** Prices of its routes in credits, in the order of attempts. */
const [FIRST, SECOND, , DEAREST] = [20, 22, 24, 28] as const;
const BACKUPS = mkdtempSync(join(tmpdir(), "backups-"));
const DIR = mkdtempSync(join(tmpdir(), "metered-"));

let harness: Harness;
let seen: Scraped;
let uploadBytes = 0;
/** The balance at the moment of the scrape. */
let balance: Awaited<ReturnType<Harness["balance"]>>;
let backedUp = "";
const ids: string[] = [];
const scrape = async (): Promise<Scraped> => {
  const { status, text } = await harness.request("GET", "/metrics", { key: null });
  expect(status).toBe(200);
  return scraped(text);
};
const order = (more: object = {}, key?: string) =>
  harness.request("POST", "/v1/generations", {
    body: { model: MODEL, input: INPUT, ...more },
    ...(key ? { headers: { "idempotency-key": key } } : {}),
  });
const ended = async (more: object = {}, prompt = "a kite") => {
  const { id } = await harness.submit(MODEL, { ...INPUT, prompt }, more as never);
  ids.push(id);
  return harness.until(id);
};
const credit = (kind: "topup" | "adjust", credits: number) =>
  harness.components.post({
    ...{ mutation: "credit", accountSeq: harness.tenant.accountSeq, kind, credits },
    ...{ note: "", reference: null, atMs: harness.clock.nowMs() },
  });

beforeAll(async () => {
  // A backup with an invalid manifest, an unfinished backup, and a file that is no backup.
  mkdirSync(join(BACKUPS, "genrouter-20271018T033000Z"));
  writeFileSync(join(BACKUPS, "genrouter-20271018T033000Z", "manifest.json"), "{}");
  mkdirSync(join(BACKUPS, "genrouter-20271020T033000Z"));
  writeFileSync(join(BACKUPS, "notes.txt"), "");
  harness = await openHarness({
    dir: DIR,
    env: { GENROUTER_BACKUP__DIR: BACKUPS, GENROUTER_DATA__DIR: DIR, GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "1" },
  });
  backedUp = backUp(DIR, BACKUPS).path;
  // A fallback, one that fails on every route, one whose input is refused, and two whose limits skip routes.
  expect(await ended({}, "a kite [sim:fal:fail-later]")).toMatchObject({ status: "succeeded", attempts: 2 });
  expect(await ended({}, "a kite [sim:fail]")).toMatchObject({ status: "failed", error: { code: "provider_failed" } });
  expect(await ended({}, "a kite [sim:refuse]")).toMatchObject({ status: "failed", error: { code: "input_refused" } });
  expect(await ended({ max_cost_usd: SECOND / 100 })).toMatchObject({ status: "succeeded" });
  expect(await ended({ max_wait_s: 50 })).toMatchObject({ status: "succeeded" });
  // A replay, and another request with the same key.
  const first = await order({}, "k-1");
  ids.push(String(first.body.id));
  expect((await order({}, "k-1")).status).toBe(200);
  expect((await order({ max_wait_s: 86_400 }, "k-1")).status).toBe(409);
  await harness.until(String(first.body.id));
  // API errors, unknown paths, an unknown method.
  expect((await order({ model: "no-such-model" })).status).toBe(422);
  expect((await harness.request("GET", "/v1/generations/x", { key: "gr_test_none" })).status).toBe(401);
  for (const path of ["/a", "/b/c?d=e", "/"]) expect((await harness.request("GET", path)).status).toBe(404);
  await harness.request("PROPFIND", "/v1/models");
  uploadBytes = (await uploaded(harness, await sampleBytes(harness, "picture.png?width=20&height=20"))).bytes;
  await credit("topup", 500);
  await credit("adjust", 30);
  await credit("adjust", -40);
  // One that runs, and one in the run queue.
  harness.simulator.script({ fault: "stuck", prompt: "stands still" });
  for (const model of [MODEL, MODEL]) {
    const { id } = await harness.submit(model, { ...INPUT, prompt: "stands still" }, { max_cost_usd: FIRST / 100 });
    ids.push(id);
  }
  await harness.eventually(async () => {
    seen = await scrape();
    balance = await harness.balance();
    return seen.value("genrouter_generations_in_progress", { status: "running" }) === 1;
  });
}, 60_000);

afterAll(async () => {
  await harness.close();
  for (const dir of [BACKUPS, DIR]) dropScratch(dir);
});

test("exports every metric of METRICS with its type and exactly its labels", () => {
  const types = typesIn(seen.text);
  for (const [name, { type, labels }] of Object.entries(METRICS)) {
    expect([name, types[name]]).toEqual([name, type]);
    const own = seen.samples.filter((sample) =>
      type === "histogram" ? sample.name.replace(/_(bucket|sum|count)$/, "") === name : sample.name === name,
    );
    expect([name, own.length > 0]).toEqual([name, true]);
    for (const sample of own)
      expect(
        Object.keys(sample.labels)
          .filter((label) => label !== "le")
          .sort(),
      ).toEqual([...labels].sort());
  }
  expect(Object.keys(types).filter((name) => !(name in METRICS) && !name.startsWith("process_"))).toEqual([]);
  for (const name of [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_open_fds",
  ])
    expect(seen.value(name)).toBeGreaterThan(0);
});

test.skipIf(!hasPromtool)("promtool accepts the output without warnings", () => {
  expect(promtool(["check", "metrics"], { input: seen.text })).toEqual({ ok: true, said: "" });
});

test("no label contains a generation id, an account id, a key, a request id or a prompt", () => {
  const labels = seen.samples.flatMap((sample) => Object.values(sample.labels)).join("\n");
  for (const text of [
    ...ids,
    harness.tenant.accountId,
    harness.tenant.keyId,
    harness.tenant.key,
    "gen_",
    "acc_",
    "req_",
    "kite",
    "gr_test",
  ])
    expect(labels).not.toContain(text);
});

test("counts requests by method, endpoint pattern and status, with one label for all unknown paths or methods", () => {
  const count = (method: string, route: string, status: number) =>
    seen.value("http_server_request_duration_seconds_count", {
      ...{ http_request_method: method, http_route: route, http_response_status_code: String(status) },
    });
  expect(count("POST", "/v1/generations", 202)).toBe(8);
  expect(count("POST", "/v1/generations", 200)).toBe(1);
  expect(count("POST", "/v1/generations", 409)).toBe(1);
  expect(count("POST", "/v1/generations", 422)).toBe(1);
  expect(count("GET", "/v1/generations/:id", 401)).toBe(1);
  expect(count("GET", "/v1/generations/:id", 200)).toBeGreaterThan(5);
  expect(count("GET", "/*", 404)).toBe(3);
  expect(count("_OTHER", "/v1/models", 405)).toBe(1);
  const bounds = seen.samples.filter(
    ({ name, labels }) => name === "http_server_request_duration_seconds_bucket" && labels.http_response_status_code === "202",
  );
  expect(bounds.map(({ labels }) => labels.le)).toEqual([
    ...["0.005", "0.01", "0.025", "0.05", "0.075", "0.1", "0.25", "0.5", "0.75", "1", "2.5", "5", "7.5", "10", "+Inf"],
  ]);
  expect(bounds.map(({ value }) => value)).toEqual(bounds.map(({ value }) => value).toSorted((a, b) => a - b));
  expect(bounds.at(-1)?.value).toBe(8);
});

test("counts generations, attempts and errors by their end", () => {
  const ends = (status: string) => seen.value("genrouter_generations_total", { model: MODEL, status });
  expect([ends("succeeded"), ends("failed")]).toEqual([4, 2]);
  expect(seen.value("genrouter_generation_duration_seconds_count", { model: MODEL, status: "succeeded" })).toBe(4);
  const attempts = (route: string, outcome: string) =>
    seen.value("genrouter_attempts_total", { model: MODEL, route: `${MODEL}/${route}`, outcome });
  expect(attempts("fal", "delivered")).toBe(2);
  expect(attempts("fal", "failed")).toBe(2);
  expect(attempts("fal", "refused")).toBe(1);
  expect(attempts("replicate", "delivered")).toBe(1);
  // Two with the first price as their maximum, and one with the second.
  expect(attempts("fal-us", "skipped_cost")).toBe(3);
  expect(attempts("replicate", "skipped_cost")).toBe(2);
  expect(attempts("fal", "skipped_wait")).toBe(1);
  expect(attempts("replicate", "skipped_wait")).toBe(1);
  expect(seen.value("genrouter_attempt_duration_seconds_count", { route: `${MODEL}/fal`, outcome: "delivered" })).toBe(2);
  const errors = (code: string) => seen.value("genrouter_errors_total", { code });
  for (const code of ["provider_failed", "input_refused", "idempotency_conflict", "model_not_available", "unauthorized"])
    expect([code, errors(code)]).toEqual([code, 1]);
  expect(errors("not_found")).toBe(3);
  expect(errors("insufficient_credits")).toBe(0);
  expect(seen.value("genrouter_idempotency_replays_total", { result: "replayed" })).toBe(1);
  expect(seen.value("genrouter_idempotency_replays_total", { result: "conflict" })).toBe(1);
});

test("exports charged, released, held and added credits as in the ledger", async () => {
  const { held, charged } = balance;
  expect(seen.value("genrouter_credits_charged_total")).toBe(charged);
  expect(seen.value("genrouter_credits_held", { model: MODEL })).toBe(held);
  expect(held).toBe(2 * FIRST);
  // The whole reserve of each minus the charges; the plans of the two with limits are shorter.
  expect(seen.value("genrouter_credits_released_total")).toBe(4 * DEAREST + SECOND + DEAREST - charged);
  // The harness gave the account 100,000 credits.
  expect(seen.value("genrouter_credits_added_total", { source: "topup" })).toBe(100_000 + 500);
  expect(seen.value("genrouter_credits_added_total", { source: "adjust" })).toBe(30);
  expect(seen.value("genrouter_ledger_imbalance_credits")).toBe(0);
});

test("exports uploaded files and their bytes by kind", () => {
  expect(seen.value("genrouter_uploads_total", { kind: "image" })).toBe(1);
  expect(seen.value("genrouter_upload_bytes_total", { kind: "image" })).toBe(uploadBytes);
});

test("exports the state of routes, queue, database, backup and build", () => {
  expect(seen.value("genrouter_ready")).toBe(1);
  expect(seen.value("genrouter_route_available", { route: `${MODEL}/fal` })).toBe(1);
  expect(seen.value("genrouter_route_breaker_state", { route: `${MODEL}/fal`, state: "closed" })).toBe(1);
  expect(seen.value("genrouter_model_available", { model: MODEL })).toBe(1);
  expect(seen.value("genrouter_generations_in_progress", { status: "queued" })).toBe(1);
  expect(seen.value("genrouter_queue_oldest_age_seconds")).toBeGreaterThan(0);
  expect(seen.value("genrouter_database_size_bytes")).toBeGreaterThan(10_000);
  expect(seen.value("genrouter_last_backup_timestamp_seconds")).toBe(
    Math.floor((JSON.parse(readFileSync(join(backedUp, "manifest.json"), "utf8")) as { taken_at_ms: number }).taken_at_ms / 1000),
  );
  expect(
    seen.value("genrouter_build_info", { version: "0.0.0", interface_version: "2026-10-19", bun_version: Bun.version }),
  ).toBe(1);
});

test("counts provider calls by host and method, without ports", () => {
  const calls = seen.samples.filter(({ name }) => name === "http_client_request_duration_seconds_count");
  expect(new Set(calls.map(({ labels }) => labels.server_address))).toEqual(new Set(["127.0.0.1"]));
  expect(seen.value("http_client_request_duration_seconds_count", { http_request_method: "POST" })).toBeGreaterThanOrEqual(8);
});

test("exports the bytes of the stored files, refreshed after some minutes", async () => {
  const bytes = async () => {
    const db = new Database(join(DIR, "genrouter.db"), { readonly: true });
    const row = db
      .query<{ bytes: number }, []>(
        "SELECT sum(f.value ->> 'bytes') AS bytes FROM generation g, json_each(g.output, '$.files') f",
      )
      .get();
    db.close();
    return row?.bytes;
  };
  harness.clock.skip(200_000);
  await harness.eventually(async () => (await scrape()).value("genrouter_files_bytes") === (await bytes()));
  expect(await bytes()).toBeGreaterThan(0);
});

test("reports an unavailable route, and its model if no other route is left", async () => {
  const IMAGE = "sim-image-1";
  harness.simulator.script({ fault: "401", provider: "fal" });
  harness.simulator.script({ fault: "401", provider: "replicate" });
  await harness.until((await harness.submit(IMAGE, { prompt: "x" })).id);
  const after = await scrape();
  expect(after.value("genrouter_model_available", { model: IMAGE })).toBe(0);
  for (const route of ["fal", "replicate"]) {
    expect(after.value("genrouter_route_available", { route: `${IMAGE}/${route}` })).toBe(0);
    expect(after.value("genrouter_route_breaker_state", { route: `${IMAGE}/${route}`, state: "open" })).toBe(1);
    expect(after.value("genrouter_route_breaker_state", { route: `${IMAGE}/${route}`, state: "closed" })).toBe(0);
  }
  expect(after.value("genrouter_log_events_total", { event: "route needs operator", level: "error" })).toBe(2);
});
