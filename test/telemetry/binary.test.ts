// Tests metrics and traces of the built binary, which must contain the modules that are loaded lazily.

import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { currentBinary } from "../built.ts";
import { dropScratch } from "../scratch.ts";
import { openCollector } from "./collector.ts";
import { eventually, startService } from "./running.ts";
import { scraped } from "./scraped.ts";

const binary = currentBinary();
if (!binary)
  console.warn("dist/genrouter is missing or older than the sources (npm run build): its metrics and traces are not tested");

test.skipIf(!binary)(
  "the binary exports metrics and spans of a fallback from an empty data directory",
  async () => {
    const dir = mkdtempSync(join(tmpdir(), "binary-"));
    const collector = openCollector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, GENROUTER_SIMULATOR__SPEED: "50" };
    const service = await startService(join(dir, "data"), env, [...(binary ?? [])]);
    try {
      const input = { prompt: "[sim:modelark:fail]", resolution: "480p", duration: 4 };
      expect(await service.until(await service.submit("vidmodel-2.0-fast", input))).toMatchObject({
        status: "succeeded",
        attempts: 2,
      });
      const seen = await eventually(async () => {
        const now = scraped((await service.ask("GET", "/metrics", { key: null })).text);
        return now.value("genrouter_generations_total", { status: "succeeded" }) === 1 && now;
      }, "the count of the generation");
      expect(seen.value("genrouter_attempts_total", { outcome: "delivered" })).toBe(1);
      expect(seen.value("genrouter_ledger_imbalance_credits")).toBe(0);
      expect(seen.value("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
      expect(await service.stop()).toBe(0);
      const names = collector.spans.map(({ name }) => name);
      for (const name of ["POST /v1/generations", "submit", "attempt 1", "attempt 2", "settle", "generation"])
        expect(names.filter((one) => one === name)).toHaveLength(1);
    } finally {
      await service.kill();
      await collector.stop();
      dropScratch(dir);
    }
  },
  60_000,
);
