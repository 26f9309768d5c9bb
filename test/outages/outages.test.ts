// Tests of the outage checks themselves: restart rules, shortened alerts, and planted losses that they must find.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Submission } from "../../src/simulator/log.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";
import { hasten } from "./alerts.ts";
import { boughtTwice, droppedOf, type Purchases } from "./purchases.ts";
import { restartsOf } from "./unit.ts";

const UNIT = readFileSync(join(import.meta.dir, "../../deploy/systemd/genrouter.service"), "utf8");

test("restartsOf() restarts the shipped unit 2 s after an unknown outcome, without a limit, and not after a configuration error", () => {
  const restarts = restartsOf(UNIT);
  const follows = (code: number | null, signal: string | null = null) => restarts.follow({ code, signal });
  expect([follows(70), follows(75), follows(1), follows(null, "SIGKILL")]).toEqual([true, true, true, true]);
  expect([follows(0), follows(2), follows(78), follows(143), follows(null, "SIGTERM")]).toEqual(Array(5).fill(false));
  expect([restarts.pauseMs, restarts.limit]).toEqual([2000, null]);
  expect(restartsOf("Restart=always\n").limit).toEqual({ starts: 5, withinMs: 10_000 });
  expect(() => restartsOf("Restart=on-failure\nRestartSteps=3\n")).toThrow("RestartSteps");
});

test("hasten() shortens the `for` time, range selectors and hours of alert rules", () => {
  const rules = "      - expr: max_over_time(a[1m]) < 24 * 3600\n        for: 2m\n";
  expect(hasten(rules, 60)).toBe("      - expr: max_over_time(a[1000ms]) < 24 * 60\n        for: 2000ms\n");
});

const PROMPT = "crash 0 k-1-0-0 as first sent";
const job = (provider: string, atMs: number, more: Partial<Submission> = {}): Submission => {
  const body = { model: provider, prompt: PROMPT };
  return {
    ...{ type: "submission", at: new Date(atMs).toISOString(), provider, endpoint: provider, job_id: provider, ref: null },
    ...{ body_sha256: Bun.SHA256.hash(JSON.stringify(body), "hex"), accepted: true, key_hash: null, input: { prompt: PROMPT } },
    ...{ faults: {}, answer: 200, plan: { queued_ms: 0, total_ms: 2000, seed: 1 } },
    ...more,
  };
};
const attempt = (n: number, provider: string, state: string) => {
  const request = JSON.stringify({ url: `http://${provider}/x`, body: { model: provider, prompt: PROMPT } });
  return { n, state, request, route: { provider }, sentAtMs: null };
};
const planted = (submissions: Submission[], states: [string, string][], more: Partial<Purchases> = {}): Purchases => {
  const tries = states.map(([provider, state], index) => attempt(index + 1, provider, state));
  const one = { id: "gen_1", account: 0, key: "k-1-0-0", tries, events: [] } as unknown as Stored;
  return { evidence: { submissions, stored: [one] }, deaths: [], confirmMs: 10_000, orphans: new Set(), ...more };
};

test("droppedOf() reports a dropped response, but none that was in flight when its process ended", () => {
  const lost = planted([job("together", 1000)], [["together", "lost"]]);
  expect(droppedOf(lost)).toHaveLength(1);
  expect(droppedOf({ ...lost, deaths: [2500] })).toEqual([]);
  expect(droppedOf({ ...lost, deaths: [9000] })).toHaveLength(1);
  expect(droppedOf(planted([job("together", 1000)], [["together", "delivered"]]))).toEqual([]);
});

test("boughtTwice() reports a second purchase with a job lookup, before confirm_s has passed, or without an orphan entry", () => {
  const pair = (first: string, second: string, atMs: number, more: Partial<Purchases> = {}) => {
    const tries: [string, string][] = [
      [first, "lost"],
      [second, "delivered"],
    ];
    return boughtTwice(planted([job(first, 0, { answer: 502 }), job(second, atMs)], tries, more));
  };
  const orphans = new Set(["gen_1 1"]);
  expect(pair("fal", "together", 60_000, { orphans }).faults).toHaveLength(1);
  expect(pair("together", "fal", 9_999, { orphans }).faults).toHaveLength(1);
  expect(pair("together", "fal", 9_999, { orphans, deaths: [5000] })).toEqual({ faults: [], allowed: 1 });
  expect(pair("together", "fal", 10_000).faults).toHaveLength(1);
  expect(pair("together", "fal", 10_000, { orphans })).toEqual({ faults: [], allowed: 1 });
});
