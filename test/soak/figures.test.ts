// Tests the runtime statistics that a service returns over its control socket: memory, counts and event loop lag.

import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AdminService } from "../../src/admin/admin-service.ts";
import { createRuntimeStats } from "../../src/app/runtime-stats.ts";
import { openControl } from "../../src/cli/control.ts";
import { fetchStats } from "../../src/cli/control-client.ts";
import { dropScratch } from "../scratch.ts";

const ABOUT = { url: "http://127.0.0.1:1", mode: "test", version: "0.0.0", pid: process.pid } as const;
const COUNTS = { queued: 1, running: 7, live: 6, deadlines: 8, tasks: 5, writes: 0 };

const BLOCKED_MS = 60;

const block = (ms: number) => {
  const endMono = performance.now() + ms;
  while (performance.now() < endMono);
};

test("returns runtime statistics over the control socket, each for the time since the previous request", async () => {
  const dir = mkdtempSync(join(tmpdir(), "figures-"));
  const close = openControl(
    dir,
    {} as AdminService,
    ABOUT,
    () => undefined,
    createRuntimeStats(() => COUNTS),
  );
  try {
    const first = await fetchStats(dir, { collect: false });
    expect(first).toMatchObject({ ...COUNTS, lagP99Ms: 0, lagMaxMs: 0, objects: null });
    expect(first.rssBytes).toBeGreaterThan(10_000_000);
    // The lag is measured every few ms, and the first request may arrive before the first measurement.
    let seenMs = 0;
    for (let turn = 0; turn < 50 && seenMs < BLOCKED_MS / 2; turn += 1) {
      block(BLOCKED_MS);
      seenMs = (await fetchStats(dir, { collect: false })).lagMaxMs;
    }
    expect(seenMs).toBeGreaterThanOrEqual(BLOCKED_MS / 2);
    const kept = Array.from({ length: 20_000 }, (_, n) => new Map([[n, n]]));
    const collected = await fetchStats(dir, { collect: true });
    expect(collected.objects?.Map).toBeGreaterThanOrEqual(kept.length);
  } finally {
    await close();
    dropScratch(dir);
  }
});
