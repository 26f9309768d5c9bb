// Tests the traces of a real service process: a fallback, a restart, secrets and an unavailable collector.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { traceOf } from "../../src/telemetry/trace-ids.ts";
import { dropScratch } from "../scratch.ts";
import { type Collector, type Got, openCollector } from "./collector.ts";
import { eventually, type Running, startService } from "./running.ts";

const MODEL = "vidmodel-2.0-fast";
const INPUT = { resolution: "480p", duration: 4 };
const SECRETS = {
  prompt: "prompt-canary-51cd",
  header: "otlp-canary-51cd",
  provider: "provider-canary-51cd",
};
const PARENT = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const SERVER = 2;
const FAULT = 2;

const dirs: string[] = [];
const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "traced-"));
  dirs.push(dir);
  return dir;
};
const envFor = (collector: string): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${SECRETS.header}`,
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  OTEL_BSP_SCHEDULE_DELAY: "50",
  GENROUTER_SIMULATOR__SPEED: "50",
  GENROUTER_LOG__LEVEL: "debug",
  REPLICATE_API_TOKEN: SECRETS.provider,
});

let collector: Collector;
let service: Running;
const named = (id: string): Got[] => collector.spans.filter((span) => span.traceId === traceOf(id).traceId);
const one = (spans: Got[], name: string): Got => {
  const found = spans.filter((span) => span.name === name);
  expect([name, found.length]).toEqual([name, 1]);
  return found[0] as Got;
};

beforeAll(async () => {
  collector = openCollector();
  service = await startService(freshDir(), envFor(collector.url));
}, 60_000);
afterAll(async () => {
  await service.kill();
  await collector.stop();
  for (const dir of dirs) dropScratch(dir);
});

test("traces a fallback as submit, two attempts and settle below the generation, linked to the request span", async () => {
  const prompt = `${SECRETS.prompt} [sim:modelark:fail-later]`;
  const traceparent = `00-${PARENT.traceId}-${PARENT.spanId}-01`;
  const id = await service.submit(MODEL, { ...INPUT, prompt }, { traceparent, "x-request-id": "req-of-mine" });
  const shown = await service.until(id);
  expect(shown).toMatchObject({ status: "succeeded", attempts: 2 });
  const cost = Math.round((shown.cost_usd ?? 0) * 100);
  await eventually(() => named(id).some(({ name }) => name === "generation"), "the span of the generation");
  const spans = named(id);
  expect(spans.map(({ name }) => name).sort()).toEqual(["attempt 1", "attempt 2", "generation", "settle", "submit"]);

  const root = one(spans, "generation");
  expect([root.parentSpanId, root.spanId, root.status]).toEqual(["", traceOf(id).rootId, 0]);
  expect(root.attributes).toMatchObject({
    ...{ "genrouter.generation_id": id, "genrouter.model": MODEL, "genrouter.status": "succeeded", "genrouter.attempts": 2 },
    ...{ "genrouter.credits": cost, "genrouter.request_id": "req-of-mine" },
  });
  for (const span of spans.filter(({ name }) => name !== "generation")) {
    expect([span.name, span.parentSpanId]).toEqual([span.name, root.spanId]);
    expect(span.endMs).toBeLessThanOrEqual(root.endMs + 1000);
  }
  const [first, second] = [one(spans, "attempt 1"), one(spans, "attempt 2")];
  expect(first.attributes).toMatchObject({
    "genrouter.route": `${MODEL}/modelark`,
    "genrouter.outcome": "failed",
    "genrouter.credits": 0,
  });
  expect(second.attributes).toMatchObject({
    "genrouter.route": `${MODEL}/replicate`,
    "genrouter.outcome": "delivered",
    "genrouter.credits": cost,
  });
  expect([first.status, second.status]).toEqual([FAULT, 0]);
  expect(first.endMs).toBeGreaterThan(first.startMs);
  expect(second.startMs).toBeGreaterThanOrEqual(first.endMs);
  expect(one(spans, "settle").startMs).toBe(root.endMs);

  const request = one(
    collector.spans.filter(({ traceId }) => traceId === PARENT.traceId),
    "POST /v1/generations",
  );
  expect([request.parentSpanId, request.kind]).toEqual([PARENT.spanId, SERVER]);
  expect(request.attributes).toEqual({
    ...{ "http.request.method": "POST", "http.route": "/v1/generations", "http.response.status_code": 202 },
    ...{ "genrouter.request_id": "req-of-mine", "genrouter.generation_id": id },
  });
  expect(request.links).toEqual([{ traceId: root.traceId, spanId: root.spanId }]);
  for (const name of ["generation", "submit"])
    expect(one(spans, name).links).toEqual([{ traceId: PARENT.traceId, spanId: request.spanId }]);
}, 60_000);

test("marks the spans of a failed generation and its attempt as failed", async () => {
  const id = await service.submit(MODEL, { ...INPUT, prompt: `${SECRETS.prompt} [sim:refuse]` });
  await service.until(id);
  await eventually(() => named(id).some(({ name }) => name === "generation"), "the span of the generation");
  const root = one(named(id), "generation");
  expect([root.status, root.attributes["genrouter.error_code"], root.attributes["genrouter.credits"]]).toEqual([
    FAULT,
    "input_refused",
    0,
  ]);
  expect(one(named(id), "attempt 1").attributes["genrouter.outcome"]).toBe("refused");
}, 60_000);

test("sends the service name, resource attributes and headers of the standard OTEL variables", async () => {
  await service.ask("GET", "/v1/models");
  await eventually(() => collector.resources.length > 0, "the first export to the collector");
  expect(collector.resources[0]).toMatchObject({ "service.name": "genrouter", "deployment.environment.name": "test" });
  expect(collector.headers[0]?.["x-collector-key"]).toBe(SECRETS.header);
});

test("exports no prompt, key, authorization or media URL, and logs no collector header", async () => {
  await service.ask("GET", `/v1/generations/nope?key=${service.key}`, { headers: { cookie: `session=${SECRETS.header}` } });
  await service.ask("GET", `/nowhere/${service.key}`);
  await eventually(() => collector.spans.some(({ name }) => name === "GET /*"), "the span of the path that is not there");
  for (const secret of [
    SECRETS.prompt,
    SECRETS.provider,
    SECRETS.header,
    service.key,
    "Bearer",
    "authorization",
    "http://",
    "sig=",
  ])
    expect([secret, collector.text().includes(secret)]).toEqual([secret, false]);
  for (const secret of [SECRETS.header, SECRETS.provider]) expect(service.said.err).not.toContain(secret);
});

test("continues the trace of a generation after its process was killed", async () => {
  const dir = freshDir();
  const before = await startService(dir, envFor(collector.url));
  const id = await before.submit(MODEL, { ...INPUT, prompt: "[sim:modelark:fail][sim:wavespeed:late-ms=3000]" });
  await eventually(() => named(id).some(({ name }) => name === "attempt 1"), "the span of the first attempt");
  await before.kill();
  expect(
    named(id)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["attempt 1", "submit"]);
  const after = await startService(dir, envFor(collector.url));
  expect(await after.until(id)).toMatchObject({ status: "succeeded", attempts: 2 });
  // The drain exports the remaining spans.
  expect(await after.stop()).toBe(0);
  const spans = named(id);
  expect(spans.map(({ name }) => name).sort()).toEqual(["attempt 1", "attempt 2", "generation", "settle", "submit"]);
  const root = one(spans, "generation");
  expect(root.attributes["genrouter.attempts"]).toBe(2);
  for (const span of spans) expect([span.name, span === root || span.parentSpanId === root.spanId]).toEqual([span.name, true]);
}, 120_000);

test("logs an unavailable collector in one line, and serves requests normally", async () => {
  const nowhere = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const url = `http://127.0.0.1:${nowhere.port}`;
  await nowhere.stop(true);
  const alone = await startService(freshDir(), {
    ...envFor(url),
    OTEL_EXPORTER_OTLP_TIMEOUT: "300",
    OTEL_BSP_MAX_QUEUE_SIZE: "16",
  });
  const { said } = alone;
  for (let n = 0; n < 40; n += 1) expect((await alone.ask("GET", "/healthz")).status).toBe(200);
  const id = await alone.submit("sim-image-1", { prompt: "x" });
  expect(await alone.until(id)).toMatchObject({ status: "succeeded" });
  await eventually(() => said.err.includes("trace export failed"), "the line in the log");
  for (let n = 0; n < 40; n += 1) await alone.ask("GET", "/healthz");
  // The drain waits for the collector for a bounded time: otherwise this test would time out.
  expect(await alone.stop()).toBe(0);
  const lines = said.err.split("\n").filter((line) => line.includes("trace export failed"));
  expect(lines).toHaveLength(1);
  expect(said.err).not.toMatch(/^\s+at /m);
  expect(said.err).not.toContain(SECRETS.header);
}, 120_000);

test("exports nothing if OTEL_SDK_DISABLED is true", async () => {
  // A separate collector: spans of other tests' services may still arrive at theirs.
  const collector = openCollector();
  const off = await startService(freshDir(), { ...envFor(collector.url), OTEL_SDK_DISABLED: "true" });
  await off.until(await off.submit("sim-image-1", { prompt: "x" }));
  expect(await off.stop()).toBe(0);
  expect(collector.spans.length).toBe(0);
  await collector.stop();
}, 60_000);
