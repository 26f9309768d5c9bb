// Provider that answers everything with 503: bounded delay before fallback, immediate log line.
import { afterEach, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
afterEach(() => harness.close());

const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
/** `confirm_s` of the routes, and less than the smallest `timeout_s` of the first routes (480 s). */
const [CONFIRM_MS, TIMEOUT_MS] = [120_000, 480_000];

const open = async () => {
  harness = await openHarness({ providers: ["fal", "replicate"], factor: 500 });
  harness.simulator.script({ fault: "5xx", provider: "fal" });
  harness.simulator.script({ fault: "list-5xx", provider: "fal" });
};
const lines = (name: string) => harness.lines.filter(({ event }) => event === name);

test("falls back to the next route after confirm_s, before the timeout of the first route", async () => {
  await open();
  const made = await harness.submit("vidmodel-2.0-fast", INPUT);
  const ended = await harness.until(made.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 2 });
  const [failed] = lines("attempt failed");
  expect(failed?.fields).toMatchObject({ generation_id: made.id, attempt: 1, outcome: "lost" });
  const tookMs = Date.parse(String(ended.completed_at)) - Date.parse(String(ended.created_at));
  expect(tookMs).toBeGreaterThanOrEqual(CONFIRM_MS);
  expect(tookMs).toBeLessThan(TIMEOUT_MS);
});

test("gives up a route without job look-up after confirm_s and lists the attempt as an orphan of unknown fate", async () => {
  const catalogue = builtInCatalogue();
  harness = await openHarness({ providers: ["openai"], catalogue, factor: 500 });
  harness.simulator.script({ fault: "5xx-after", provider: "openai" });
  const made = await harness.submit("gpt-image-2", { prompt: "a kite" });
  const ended = await harness.until(made.id);
  expect(ended).toMatchObject({ status: "failed", attempts: 1, error: { code: "provider_failed" } });
  const tookMs = Date.parse(String(ended.completed_at)) - Date.parse(String(ended.created_at));
  expect(tookMs).toBeGreaterThanOrEqual(CONFIRM_MS);
  expect(tookMs).toBeLessThan(TIMEOUT_MS);
  expect((await harness.store.orphans(0)).map(({ generationId, fate }) => [generationId, fate])).toEqual([[made.id, "unknown"]]);
});

test("logs and counts an attempt with an unclear response at once, with route and reason", async () => {
  await open();
  const made = await harness.submit("vidmodel-2.0-fast", INPUT);
  const [line] = await harness.eventually(() => {
    const found = lines("attempt unclear");
    return found.length > 0 && found;
  }, "the log line");
  expect(line?.fields).toMatchObject({
    ...{ generation_id: made.id, attempt: 1, model: "vidmodel-2.0-fast", provider: "fal", outcome: "unclear" },
    ...{ route_id: "vidmodel-2.0-fast/fal", reason: "answered 503" },
  });
  expect((await harness.show(made.id)).status).toBe("running");
  const { text } = await harness.request("GET", "/metrics", { key: null });
  expect(text).toMatch(/^genrouter_attempts_total\{.*route="vidmodel-2.0-fast\/fal",outcome="unclear"\} 1$/m);
});

test("the log line of an unclear attempt omits the response text, which may repeat the prompt", async () => {
  await open();
  await harness.submit("vidmodel-2.0-fast", { ...INPUT, prompt: "a very secret kite" });
  await harness.eventually(() => lines("attempt unclear").length > 0, "the log line");
  expect(JSON.stringify(lines("attempt unclear"))).not.toContain("kite");
});
