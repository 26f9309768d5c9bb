// Jobs that a provider has accepted: how they deliver, fail or are refused, and which of that is charged.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { openHarness } from "../harness.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, openScene } from "./fixture.ts";

test("a generation is charged the quoted price of the route that delivered, and its file is what it says", async () => {
  const harness = await openHarness();
  const { submit, until, ask, balance } = harness;
  const queued = await submit("vidmodel-2.0-fast", { prompt: "a red kite over dunes", resolution: "480p", duration: 4 });
  expect(queued).toMatchObject({ status: "queued", attempts: 0, cost_usd: null, quoted_usd: 0.2, output: null });
  const ended = await until(queued.id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: 0.2, reserved_usd: null, error: null });
  expect(ended.output).toMatchObject({ width: 864, height: 480, duration_s: 4, has_audio: false });
  expect(ended.output?.urls).toHaveLength(1);
  const file = await ask("GET", `/v1/generations/${queued.id}/content`);
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
    promise: "a job that fails at once is followed by the next route, and only that one is charged",
    rules: [on("fal", "fail")],
    end: FAILED_OVER,
  },
  {
    promise: "a job that fails at the end of its time is followed by the next route, and only that one is charged",
    rules: [on("fal", "fail-later")],
    end: FAILED_OVER,
  },
  {
    promise: "a job that the provider stops half way is followed by the next route",
    rules: [on("fal", "aborted")],
    end: FAILED_OVER,
  },
  { promise: "an output that is refused is followed by the next route", rules: [on("fal", "refuse-output")], end: FAILED_OVER },
  {
    promise: "an output that is refused, told in words only, is followed by the next route",
    rules: [on("replicate", "refuse-output")],
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ends: 30, attempts: ["failed", "delivered"], received: ["replicate", "spare"] },
  },
  {
    promise: "input media that the provider could not fetch are left to the next route",
    rules: [on("fal", "input-unreachable")],
    end: FAILED_OVER,
  },
  {
    promise: "an input that is refused ends the generation, and nobody else is asked",
    rules: [on("fal", "refuse")],
    end: REFUSED,
  },
  {
    promise: "an input that is refused, told in words only, ends the generation, and nobody else is asked",
    rules: [on("replicate", "refuse")],
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ...REFUSED, received: ["replicate"] },
  },
  {
    promise: "`on_refusal: next`: an input that one provider refuses is left to the next route",
    rules: [on("fal", "refuse")],
    routes: [{ ...FAL, onRefusal: "next" }, REPLICATE],
    end: FAILED_OVER,
  },
  {
    promise: "`on_refusal: next`: an input that every provider refuses is refused",
    rules: [{ fault: "refuse" }],
    routes: [
      { ...FAL, onRefusal: "next" },
      { ...REPLICATE, onRefusal: "next" },
    ],
    end: { ends: "input_refused", attempts: ["failed", "failed"], received: ["fal", "replicate"] },
  },
  {
    promise: "an input that one provider refuses and at which another fails is a failure of the providers",
    rules: [on("fal", "refuse"), on("replicate", "fail")],
    routes: [{ ...FAL, onRefusal: "next" }, REPLICATE],
    end: { ends: "provider_failed", attempts: ["failed", "failed"], received: ["fal", "replicate"] },
  },
  {
    promise: "two routes fail and the third delivers: its price is charged, though it is not the one that was quoted",
    rules: [on("fal", "fail"), on("replicate", "fail-later")],
    end: { ends: 30, attempts: ["failed", "failed", "delivered"], received: ["fal", "replicate", "spare"] },
  },
  {
    promise: "every route fails: the generation has failed, nothing is charged, the whole hold goes back",
    rules: [{ fault: "fail" }],
    end: { ends: "provider_failed", attempts: ["failed", "failed", "failed"], received: ["fal", "replicate", "spare"] },
  },
  {
    promise: "a job that takes longer than expected is waited for",
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

test("a job that never ends is given up when its route's time is over, stopped at the end, and charged to nobody", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  await scene.untilAttempts(id, "capped", "accepted");
  scene.clock.skip(600_000);
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["capped", "capped"], received: ["fal", "replicate"] });
  await scene.eventually(() => scene.simulator.jobs().every(({ state }) => state === "cancelled"), "the cancelling of both jobs");
});

test("what providers say about a failure is kept for the operator and never shown to the caller", async () => {
  const scene = await openScene({ routes: [REPLICATE] });
  scene.simulator.script({ fault: "fail" });
  const { id } = await scene.begin();
  await scene.until(id);
  const { text } = await scene.ask("GET", `/v1/generations/${id}`);
  const [attempt] = await scene.attempts(id);
  expect(attempt?.failure?.detail).toContain("E9243");
  expect(text).not.toContain("E9243");
  expect(text).not.toContain("replicate");
});
