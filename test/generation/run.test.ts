// Tests of accepted jobs that deliver, fail or are refused, and of what is charged.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { openHarness } from "../harness.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, openScene } from "./fixture.ts";

test("charges the quoted price of the route that delivers, and serves the file that the resource describes", async () => {
  const harness = await openHarness();
  const { submit, until, request, balance } = harness;
  const queued = await submit("vidmodel-2.0-fast", { prompt: "a red kite over dunes", resolution: "480p", duration: 4 });
  expect(queued).toMatchObject({ status: "queued", attempts: 0, cost_usd: null, quoted_usd: 0.2, output: null });
  const ended = await until(queued.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: 0.2, reserved_usd: null, error: null });
  expect(ended.output).toMatchObject({ width: 864, height: 480, duration_s: 4, has_audio: false });
  expect(ended.output?.urls).toHaveLength(1);
  const file = await request("GET", `/v1/generations/${queued.id}/content`);
  expect(file.status).toBe(200);
  expect(file.headers.get("content-type")).toBe("video/mp4");
  const linked = await fetch(ended.output?.urls[0] ?? "");
  expect(linked.status).toBe(200);
  expect(await balance()).toEqual({ available: 99_980, held: 0, charged: 20, inProgress: 0 });
  await harness.close();
});

type Row = { promise: string; rules: Rule[]; routes?: TestRoute[]; end: End };
const on = (name: string, fault: Rule["fault"], more: Partial<Rule> = {}): Rule => ({ fault, endpoint: `life/${name}`, ...more });
const FAILED_OVER: End = { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] };
const REFUSED: End = { ends: "input_refused", attempts: ["failed"], received: ["fal"] };
const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };

const ROWS: Row[] = [
  {
    promise: "falls back after a job that fails at once, and charges only the second route",
    rules: [on("fal", "fail")],
    end: FAILED_OVER,
  },
  {
    promise: "falls back after a job that fails at the end of its run, and charges only the second route",
    rules: [on("fal", "fail-later")],
    end: FAILED_OVER,
  },
  {
    promise: "falls back after a job that the provider aborts",
    rules: [on("fal", "aborted")],
    end: FAILED_OVER,
  },
  { promise: "falls back after a refused output", rules: [on("fal", "refuse-output")], end: FAILED_OVER },
  {
    promise: "falls back after a refused output that only the provider's message indicates",
    rules: [on("replicate", "refuse-output")],
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ends: 30, attempts: ["failed", "delivered"], received: ["replicate", "spare"] },
  },
  {
    promise: "falls back when the provider cannot download the input media",
    rules: [on("fal", "input-unreachable")],
    end: FAILED_OVER,
  },
  {
    promise: "fails the generation without a fallback when the input is refused",
    rules: [on("fal", "refuse")],
    end: REFUSED,
  },
  {
    promise: "fails the generation without a fallback when only the provider's message indicates a refused input",
    rules: [on("replicate", "refuse")],
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ...REFUSED, received: ["replicate"] },
  },
  {
    promise: "falls back after a refused input when the route has `on_refusal: next`",
    rules: [on("fal", "refuse")],
    routes: [{ ...FAL, onRefusal: "next" }, REPLICATE],
    end: FAILED_OVER,
  },
  {
    promise: "fails with input_refused when every route has `on_refusal: next` and refuses the input",
    rules: [{ fault: "refuse" }],
    routes: [
      { ...FAL, onRefusal: "next" },
      { ...REPLICATE, onRefusal: "next" },
    ],
    end: { ends: "input_refused", attempts: ["failed", "failed"], received: ["fal", "replicate"] },
  },
  {
    promise: "fails with provider_failed when one route refuses the input and another fails",
    rules: [on("fal", "refuse"), on("replicate", "fail")],
    routes: [{ ...FAL, onRefusal: "next" }, REPLICATE],
    end: { ends: "provider_failed", attempts: ["failed", "failed"], received: ["fal", "replicate"] },
  },
  {
    promise: "charges the price of the third route when two routes fail, even if it is higher than the quote",
    rules: [on("fal", "fail"), on("replicate", "fail-later")],
    end: { ends: 30, attempts: ["failed", "failed", "delivered"], received: ["fal", "replicate", "spare"] },
  },
  {
    promise: "fails with provider_failed, without a charge, and releases the whole hold when every route fails",
    rules: [{ fault: "fail" }],
    end: { ends: "provider_failed", attempts: ["failed", "failed", "failed"], received: ["fal", "replicate", "spare"] },
  },
  {
    promise: "waits for a job that takes longer than expected",
    rules: [on("fal", "slow", { factor: 20 })],
    end: { ends: 20, attempts: ["delivered"], received: ["fal"] },
  },
];

for (const { promise, rules, routes, end } of ROWS)
  test(promise, async () => {
    const scene = await openScene(routes ? { routes } : {});
    for (const rule of rules) scene.simulator.script(rule);
    const { id } = await scene.begin();
    await expectEnd(scene, id, end);
  });

test("caps a job that never ends at its route's time, cancels it and charges nothing", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  await scene.untilAttempts(id, "capped", "accepted");
  scene.clock.skip(600_000);
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["capped", "capped"], received: ["fal", "replicate"] });
  await scene.eventually(
    () => scene.simulator.jobs().every(({ state }) => state === "cancelled"),
    "the cancellation of both jobs",
  );
});

test("stores a provider's failure text for the operator and omits it from the resource", async () => {
  const scene = await openScene({ routes: [REPLICATE] });
  scene.simulator.script({ fault: "fail" });
  const { id } = await scene.begin();
  await scene.until(id);
  const { text } = await scene.request("GET", `/v1/generations/${id}`);
  const [attempt] = await scene.attempts(id);
  expect(attempt?.failure?.detail).toContain("E9243");
  expect(text).not.toContain("E9243");
  expect(text).not.toContain("replicate");
});
