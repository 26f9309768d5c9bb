// Metrics and alerts: provider costs, active faults, and no alerts while idle.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogueOver } from "../../catalogue/load.ts";
import { readSettings } from "../../src/config/load.ts";
import type { GaugeReadings } from "../../src/telemetry/gauge-readings.ts";
import { createGaugeSources, type GaugeSourcesDeps } from "../../src/telemetry/gauge-sources.ts";
import { createTelemetry } from "../../src/telemetry/telemetry.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { hasPromtool, promtoolBeside } from "../promtool.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import { dropScratch } from "../scratch.ts";
import { openCollector } from "../telemetry/collector.ts";
import { samplesIn, scraped } from "../telemetry/scraped.ts";

const dir = mkdtempSync(join(tmpdir(), "operator-a5-"));
afterAll(() => dropScratch(dir));

const MODEL = "vidmodel-2.0-fast";
const INPUT = { resolution: "480p", duration: 4 };
/** Costs of the first two routes, in USD per second. */
const COSTS = ["0.01", "0.0205"] as const;
const costly = catalogueOver(
  sampleCatalogue().models.map((model) =>
    model.id !== MODEL
      ? model
      : {
          ...model,
          routes: model.routes.map((route, at) => ({ ...route, cost: COSTS[at] ? [{ when: {}, usd: COSTS[at] }] : [] })),
        },
  ),
);
const routes = costly.model(MODEL)?.routes ?? [];

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ catalogue: costly });
});
afterAll(() => harness.close());
const scrape = async (of: Harness) => scraped((await of.request("GET", "/metrics", { key: null })).text);

test("provider_cost_credits_total counts the cost of delivered attempts by provider and model", async () => {
  await harness.until((await harness.submit(MODEL, { ...INPUT, prompt: "a kite" })).id);
  // The first attempt fails, the second one delivers.
  await harness.until((await harness.submit(MODEL, { ...INPUT, prompt: "a kite [sim:fal:fail-later]" })).id);
  const cost = (route: number, outcome: string, seen: Awaited<ReturnType<typeof scrape>>) =>
    seen.value("genrouter_provider_cost_credits_total", { provider: routes[route]?.provider ?? "", model: MODEL, outcome });
  const ended = () => harness.lines.filter(({ event }) => event === "generation completed").map(({ fields }) => fields);
  await harness.eventually(() => ended().length === 2, "both completed generations");
  const seen = await scrape(harness);
  expect(cost(0, "delivered", seen)).toBeCloseTo(4, 6);
  expect(
    seen.samples.filter(({ name }) => name === "genrouter_provider_cost_credits_total").map(({ value }) => value),
  ).toHaveLength(2);
  expect(seen.value("genrouter_orphans_credits", { kind: "late" })).toBe(0);
  expect(ended().map(({ provider, provider_credits }) => [provider, provider_credits])).toEqual([
    [routes[0]?.provider, 4],
    [expect.any(String), expect.any(Number)],
  ]);
});

test("a result that fails the delivery check counts in the provider cost and in the orphan credits", async () => {
  const odd = await openHarness({ catalogue: costly });
  await odd.until((await odd.submit(MODEL, { ...INPUT, prompt: "[sim:fal:short]" })).id);
  const seen = await scrape(odd);
  const paid = seen.value("genrouter_provider_cost_credits_total", { outcome: "mismatched" });
  const orphans = seen.value("genrouter_orphans_credits", { kind: "mismatched" });
  await odd.close();
  expect([paid, orphans]).toEqual([expect.any(Number), expect.any(Number)]);
  expect(paid).toBeGreaterThan(0);
  expect(orphans).toBeGreaterThan(0);
});

test("genrouter_fault_active is 1 from the event that reports a fault until the event that ends it", async () => {
  const build = { version: "0", revision: "", bunVersion: "", interfaceVersion: "" };
  const telemetry = createTelemetry(() => undefined, {}, build);
  const active = async (fault: string) => scraped(await telemetry.metrics(standing)).value("genrouter_fault_active", { fault });
  for (const [fault, begins, ends] of [
    ["backup", "backup failed", "backup finished"],
    ["backup", "backup verification failed", "backup finished"],
    ["clock", "clock skew detected", "clock skew ended"],
    ["descriptors", "file descriptors exhausted", "file descriptors recovered"],
    ["payments", "payment provider unavailable", "payment provider recovered"],
    ["settings", "config reload rejected", "config reloaded"],
    ["traces", "trace export failed", "trace export recovered"],
  ] as const) {
    const seen = [await active(fault)];
    for (const event of [begins, begins, ends]) {
      telemetry.log(event);
      seen.push(await active(fault));
    }
    expect([fault, ...seen]).toEqual([fault, 0, 1, 1, 0]);
  }
});
const standing: GaugeReadings = {
  ...{ nowMs: () => 0, isReady: () => true, routes: () => [], stuck: () => 0, nodes: () => 1, clockAheadS: () => 0 },
  webhookDelayS: () => 0,
  ...{
    disk: async () => undefined,
    isDiskFull: () => false,
    isStoreAvailable: () => true,
    whereReached: (ask) => ask(),
    orphans: async () => [],
  },
  ...{
    bucket: () => ({ isAvailable: true, waiting: 0, setAside: 0 }),
    databaseBytes: () => 0,
    lastBackupS: async () => undefined,
  },
  reads: {
    openGenerations: async () => [],
    keptFiles: async () => ({ count: 0, bytes: 0, upTo: { expireAtMs: 0, seq: 0 } }),
    undecidedReversals: async () => [],
    restored: async () => null,
    ledgerTotals: async () => ({
      ...{ upToSeq: 0, putCredits: 0, capturedCredits: 0, isWhole: true },
      balances: { availableCredits: 0, heldCredits: 0, chargedCredits: 0, openReservedCredits: 0 },
    }),
  } as unknown as GaugeReadings["reads"],
};

const standingOf = (env: Record<string, string>) => {
  const settings = readSettings({ GENROUTER_DATA__DIR: dir, ...env });
  const parts = {
    ...{ settings, clock: { nowMs: () => 0 }, nodes: () => 3, reads: { secret: async () => "0".repeat(64) } },
    ...{ engine: { stuck: { count: () => 0 } }, waiting: () => null },
  };
  return createGaugeSources(parts as unknown as GaugeSourcesDeps);
};

test("the last backup time is 0 before the first backup, and absent without backup.dir or over PostgreSQL", async () => {
  const url = "postgres://genrouter@db.example.com/genrouter?sslmode=verify-full";
  const [expected, none, server] = [{ GENROUTER_BACKUP__DIR: join(dir, "none") }, {}, { GENROUTER_STORE__URL: url }].map(
    standingOf,
  );
  expect([await expected?.lastBackupS(), await none?.lastBackupS(), await server?.lastBackupS()]).toEqual([
    0,
    undefined,
    undefined,
  ]);
  expect([none?.databaseBytes(), server?.databaseBytes()]).toEqual([0, undefined]);
});

test("scrapes and health checks increment the request metric and create no span", async () => {
  const collector = openCollector();
  const build = { version: "0", revision: "", bunVersion: "", interfaceVersion: "" };
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  const telemetry = createTelemetry(() => undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, build);
  for (const route of ["/metrics", "/healthz", "/readyz", "/v1/models"])
    telemetry.observe(route)(new Request(`http://a${route}`), "req_1", new Response(""), 1);
  await telemetry.flush();
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const counted = scraped(await telemetry.metrics(standing));
  expect(collector.spans.map(({ name }) => name)).toEqual(["GET /v1/models"]);
  expect(counted.value("http_server_request_duration_seconds_count", { http_route: "/metrics" })).toBe(1);
  await collector.stop();
});

/** Checks that no alert fires within 40 hours over constant scraped metrics. */
const firing = async (texts: readonly string[]): Promise<{ ok: boolean; said: string }> => {
  const series = texts.flatMap((text, at) => [
    { series: `up{job="genrouter",instance="${at}"}`, values: "1x2400" },
    ...samplesIn(text).map(({ name, labels, value }) => {
      const all = { ...labels, job: "genrouter", instance: `${at}` };
      const shown = Object.entries(all).map(([label, said]) => `${label}=${JSON.stringify(said)}`);
      return { series: `${name}{${shown.join(",")}}`, values: `${value}x2400` };
    }),
  ]);
  const file = join(dir, `idle-${texts.length}.json`);
  const rules = join(import.meta.dir, "../../deploy/prometheus/alerts.yml");
  const checks = ["10m", "1h", "12h", "40h"].map((at) => ({
    ...{ expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: at, exp_samples: [] },
  }));
  const tests = [{ interval: "1m", input_series: series, promql_expr_test: checks }];
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: "10m", tests }));
  return promtoolBeside(["test", "rules", file]);
};

const text = async (of: Harness) => {
  const summed = async () => {
    const { text: said } = await of.request("GET", "/metrics", { key: null });
    return said.includes("\ngenrouter_ledger_imbalance_credits 0") ? said : false;
  };
  return of.eventually(summed, "the ledger imbalance gauge");
};

test.skipIf(!hasPromtool)(
  "no alert fires on a new, idle service over SQLite",
  async () => {
    const idle = await openHarness();
    const said = await text(idle);
    await idle.close();
    expect(await firing([said])).toMatchObject({ ok: true });
  },
  30_000,
);

test.skipIf(!hasPromtool || postgresReason !== undefined)(
  "no alert fires on new, idle nodes over PostgreSQL, which create no backups",
  async () => {
    const nodes = await openHarnessOfNodes(2);
    const said = await Promise.all(nodes.each.map(text));
    await nodes.close();
    expect(await firing(said)).toMatchObject({ ok: true });
  },
  60_000,
);
