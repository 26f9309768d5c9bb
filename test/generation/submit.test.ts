// Tests of submissions that a provider rejects: fallback, resending and charges.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import type { HarnessOptions } from "../harness.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, INITIAL_CREDITS, openScene } from "./fixture.ts";

type Row = {
  promise: string;
  rules: Rule[];
  routes?: TestRoute[];
  order?: { max_wait_s?: number };
  harness?: HarnessOptions;
  end: End;
  /** Routes whose circuit breaker is open at the end. */
  down?: string[];
};

const NEXT_ROUTE: End = { ends: 25, attempts: ["rejected", "delivered"], received: ["fal", "replicate"] };
const on = (name: string, fault: Rule["fault"], more: Partial<Rule> = {}): Rule => ({ fault, endpoint: `life/${name}`, ...more });

const ROWS: Row[] = [
  {
    promise: "opens all routes of the provider account after a 401, and falls back",
    rules: [on("fal", "401")],
    end: NEXT_ROUTE,
    down: ["life/fal", "life/spare"],
  },
  {
    promise: "opens all routes of the provider account after a 402, and falls back",
    rules: [on("fal", "402")],
    end: NEXT_ROUTE,
    down: ["life/fal", "life/spare"],
  },
  {
    promise: "opens the route after a 403, and falls back",
    rules: [on("fal", "403")],
    end: NEXT_ROUTE,
    down: ["life/fal"],
  },
  {
    promise: "opens the route after a 404, and falls back",
    rules: [on("fal", "404")],
    end: NEXT_ROUTE,
    down: ["life/fal"],
  },
  {
    promise: "falls back without opening the route after a response that the input is invalid",
    rules: [on("fal", "invalid")],
    end: NEXT_ROUTE,
  },
  {
    promise: "resends the same attempt after the Retry-After of a 429, without a fallback",
    rules: [on("fal", "429", { retry_after_s: 2, times: 2 })],
    end: { ends: 20, attempts: ["delivered"], received: ["fal", "fal", "fal"] },
  },
  {
    promise: "falls back after five submissions with 429",
    rules: [on("fal", "429")],
    end: { ends: 25, attempts: ["rejected", "delivered"], received: ["fal", "fal", "fal", "fal", "fal", "replicate"] },
  },
  {
    promise: "falls back at once when the Retry-After of a 429 is longer than max_wait_s",
    rules: [on("fal", "429", { retry_after_s: 120 })],
    order: { max_wait_s: 100 },
    end: NEXT_ROUTE,
  },
  {
    promise: "falls back at once when the Retry-After of a 429 is longer than the route's time",
    rules: [on("fal", "429", { retry_after_s: 700 })],
    end: NEXT_ROUTE,
  },
  {
    promise: "falls back to a route of another provider when a provider refuses connections",
    rules: [],
    harness: { env: { GENROUTER_PROVIDERS__FAL__BASE_URL: "http://127.0.0.1:1/fal" } },
    end: { ends: 25, attempts: ["rejected", "delivered"], received: ["replicate"] },
  },
  {
    promise: "fails with provider_failed, without a charge, when every provider refuses connections",
    rules: [],
    harness: {
      env: {
        GENROUTER_PROVIDERS__FAL__BASE_URL: "http://127.0.0.1:1/fal",
        GENROUTER_PROVIDERS__REPLICATE__BASE_URL: "http://127.0.0.1:1/v1",
      },
    },
    end: { ends: "provider_failed", attempts: ["rejected", "rejected", "rejected"], received: [] },
  },
  {
    promise: "fails with provider_failed and releases the whole hold when every route rejects the submission",
    rules: [{ fault: "invalid" }],
    end: { ends: "provider_failed", attempts: ["rejected", "rejected", "rejected"], received: ["fal", "replicate", "spare"] },
  },
  {
    promise: "fails with provider_failed when the only route rejects the submission with 402",
    rules: [{ fault: "402" }],
    routes: [FAL],
    end: { ends: "provider_failed", attempts: ["rejected"], received: ["fal"] },
    down: ["life/fal"],
  },
];

for (const { promise, rules, routes = [FAL, REPLICATE, SPARE], order, harness, end, down = [] } of ROWS)
  test(promise, async () => {
    const scene = await openScene({ routes, ...harness });
    for (const rule of rules) scene.simulator.script(rule);
    const queued = await scene.begin(order);
    const dearest = Math.max(...routes.map(({ usd }) => Number(usd)));
    expect(queued).toMatchObject({ status: "queued", quoted_usd: 0.2, reserved_usd: dearest, cost_usd: null });
    await expectEnd(scene, queued.id, end);
    const closed = [...(await scene.store.routeHealth())].filter(([, saved]) => JSON.parse(saved).value === "open");
    expect(closed.map(([routeId]) => routeId)).toEqual(down);
  });

test("removes a model from the list while its only route is open after a 402, and restores it after the pause", async () => {
  const scene = await openScene({ routes: [FAL] });
  const listed = async () =>
    ((await scene.request("GET", "/v1/models", { key: null })).body.data as { id: string }[]).map(({ id }) => id);
  expect(await listed()).toEqual(["life"]);
  scene.simulator.script({ fault: "402", times: 1 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["rejected"], received: ["fal"] });
  expect(await listed()).toEqual([]);
  const refused = await scene.request("POST", "/v1/generations", { body: { model: "life", input: { prompt: "x" } } });
  expect(refused).toMatchObject({ status: 503, body: { error: { code: "model_unavailable" } } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  scene.clock.skip(600_000);
  expect(await listed()).toEqual(["life"]);
  const again = await scene.begin();
  expect((await scene.until(again.id)).status).toBe("succeeded");
});

test("resends a submission as the same bytes with the same reference", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "429", times: 1 });
  const { id } = await scene.begin();
  await scene.until(id);
  const [first, second] = scene.simulator.submissions();
  expect(second?.body_sha256).toBe(first?.body_sha256 ?? "");
  expect(second?.ref).toBe(`${id.slice("gen_".length)}-1`);
  expect(first?.accepted).toBe(false);
  expect(second?.accepted).toBe(true);
});

test("shows a generation that backs off after a 429 as running, without a message and with its hold", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "429", retry_after_s: 300, times: 1 });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.attempts(id))[0]?.failure?.class === "rate_limited");
  const waiting = await scene.show(id);
  expect(waiting).toMatchObject({ status: "running", attempts: 1, cost_usd: null, reserved_usd: 0.3, output: null, error: null });
  expect(waiting.message).toBeUndefined();
  expect(await scene.balance()).toEqual({ available: INITIAL_CREDITS - 30, held: 30, charged: 0, inProgress: 1 });
  scene.clock.skip(300_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal", "fal"] });
});

test("runs more jobs than the provider's bulkhead has places, because an accepted job occupies none", async () => {
  const scene = await openScene({ routes: [FAL], env: { GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "1000" } });
  scene.simulator.script({ fault: "stuck" });
  await Promise.all(Array.from({ length: 80 }, () => scene.begin()));
  await scene.eventually(() => scene.received().length === 80, "all submissions");
  expect(scene.components.supervisor.counts()).toMatchObject({ queued: 0, running: 80 });
});
