// A provider that answers submissions and questions with 503 alone holds a generation up for a bounded time, and is told at once.
import { afterEach, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
afterEach(() => harness.close());

const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
/** `confirm_s` of a route that has none, and what look-ups and the next route take beside it. */
const [CONFIRM_MS, BESIDE_MS] = [120_000, 90_000];

const open = async () => {
  harness = await openHarness({ providers: ["fal", "replicate"], factor: 500 });
  harness.simulator.script({ fault: "5xx", provider: "fal" });
  harness.simulator.script({ fault: "list-5xx", provider: "fal" });
};
const lines = (name: string) => harness.lines.filter(({ event }) => event === name);

test("A6: the next route has its turn after confirm_s, long before the time of the first is over", async () => {
  await open();
  const made = await harness.submit("vidmodel-2.0-fast", INPUT);
  const ended = await harness.until(made.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 2 });
  const [failed] = lines("attempt failed");
  expect(failed?.fields).toMatchObject({ generation_id: made.id, attempt: 1, outcome: "lost" });
  const tookMs = Date.parse(String(ended.completed_at)) - Date.parse(String(ended.created_at));
  expect(tookMs).toBeGreaterThanOrEqual(CONFIRM_MS);
  expect(tookMs).toBeLessThan(CONFIRM_MS + BESIDE_MS);
});

test("A6: where nobody can be asked, and nobody tells, the route is given up after confirm_s, and not at once", async () => {
  const catalogue = builtInCatalogue();
  harness = await openHarness({ providers: ["openai"], catalogue, factor: 500 });
  harness.simulator.script({ fault: "5xx-after", provider: "openai" });
  const made = await harness.submit("gpt-image-2", { prompt: "a kite" });
  const ended = await harness.until(made.id);
  expect(ended).toMatchObject({ status: "failed", attempts: 1, error: { code: "provider_failed" } });
  const tookMs = Date.parse(String(ended.completed_at)) - Date.parse(String(ended.created_at));
  expect(tookMs).toBeGreaterThanOrEqual(CONFIRM_MS);
  expect(tookMs).toBeLessThan(CONFIRM_MS + BESIDE_MS);
  expect((await harness.store.orphans(0)).map(({ generationId, fate }) => [generationId, fate])).toEqual([[made.id, "unknown"]]);
});

test("A6: a line and a counter say at once which attempt has no clear answer, and why", async () => {
  await open();
  const made = await harness.submit("vidmodel-2.0-fast", INPUT);
  const [line] = await harness.eventually(() => {
    const found = lines("attempt unclear");
    return found.length > 0 && found;
  }, "a line");
  expect(line?.fields).toMatchObject({
    ...{ generation_id: made.id, attempt: 1, model: "vidmodel-2.0-fast", provider: "fal", outcome: "unclear" },
    ...{ route_id: "vidmodel-2.0-fast/fal", reason: "answered 503" },
  });
  expect((await harness.show(made.id)).status).toBe("running");
  const { text } = await harness.ask("GET", "/metrics", { key: null });
  expect(text).toMatch(/^genrouter_attempts_total\{.*route="vidmodel-2.0-fast\/fal",outcome="unclear"\} 1$/m);
});

test("A6: what a provider says is not in the line: it may repeat the prompt", async () => {
  await open();
  await harness.submit("vidmodel-2.0-fast", { ...INPUT, prompt: "a very secret kite" });
  await harness.eventually(() => lines("attempt unclear").length > 0, "a line");
  expect(JSON.stringify(lines("attempt unclear"))).not.toContain("kite");
});
