// What a provider can do to a submission before it has accepted anything: who is tried next, what is sent again, what is charged.
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
  /** States of routes that are not as they were. */
  down?: string[];
};

const NEXT_ROUTE: End = { ends: 25, attempts: ["rejected", "delivered"], received: ["fal", "replicate"] };
const on = (name: string, fault: Rule["fault"], more: Partial<Rule> = {}): Rule => ({ fault, endpoint: `life/${name}`, ...more });

const ROWS: Row[] = [
  {
    promise: "an unknown credential closes all routes of the account at once, and the next one delivers",
    rules: [on("fal", "401")],
    end: NEXT_ROUTE,
    down: ["life/fal", "life/spare"],
  },
  {
    promise: "an empty balance with the provider closes all routes of the account at once, and the next one delivers",
    rules: [on("fal", "402")],
    end: NEXT_ROUTE,
    down: ["life/fal", "life/spare"],
  },
  {
    promise: "a model that is not allowed closes the route at once, and the next one delivers",
    rules: [on("fal", "403")],
    end: NEXT_ROUTE,
    down: ["life/fal"],
  },
  {
    promise: "a model that the provider does not know closes the route at once, and the next one delivers",
    rules: [on("fal", "404")],
    end: NEXT_ROUTE,
    down: ["life/fal"],
  },
  {
    promise: "an input that this provider cannot take says nothing about the route, and the next one delivers",
    rules: [on("fal", "invalid")],
    end: NEXT_ROUTE,
  },
  {
    promise: "too many requests: the same attempt is sent again when the provider says, and no other route is tried",
    rules: [on("fal", "429", { retry_after_s: 2, times: 2 })],
    end: { ends: 20, attempts: ["delivered"], received: ["fal", "fal", "fal"] },
  },
  {
    promise: "too many requests again and again: after five sendings the next route has its turn",
    rules: [on("fal", "429")],
    end: { ends: 25, attempts: ["rejected", "delivered"], received: ["fal", "fal", "fal", "fal", "fal", "replicate"] },
  },
  {
    promise: "too many requests for longer than the caller waits: the next route has its turn at once",
    rules: [on("fal", "429", { retry_after_s: 120 })],
    order: { max_wait_s: 100 },
    end: NEXT_ROUTE,
  },
  {
    promise: "too many requests for longer than the route may take: the next route has its turn at once",
    rules: [on("fal", "429", { retry_after_s: 700 })],
    end: NEXT_ROUTE,
  },
  {
    promise: "a provider that cannot be connected to is tried twice, then the next route delivers",
    rules: [],
    harness: { env: { GENROUTER_PROVIDERS__FAL__BASE_URL: "http://127.0.0.1:1/fal" } },
    end: { ends: 25, attempts: ["rejected", "delivered"], received: ["replicate"] },
  },
  {
    promise: "no provider can be connected to: every route was tried, nothing is charged",
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
    promise: "every route refuses the submission: the generation fails and the whole hold goes back",
    rules: [{ fault: "invalid" }],
    end: { ends: "provider_failed", attempts: ["rejected", "rejected", "rejected"], received: ["fal", "replicate", "spare"] },
  },
  {
    promise: "a single route that refuses the submission: nothing else is tried",
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

test("a route without credit at its provider leaves the model list while it is the only one, and comes back", async () => {
  const scene = await openScene({ routes: [FAL] });
  const listed = async () =>
    ((await scene.ask("GET", "/v1/models", { key: null })).body.data as { id: string }[]).map(({ id }) => id);
  expect(await listed()).toEqual(["life"]);
  scene.simulator.script({ fault: "402", times: 1 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["rejected"], received: ["fal"] });
  expect(await listed()).toEqual([]);
  const refused = await scene.ask("POST", "/v1/generations", { body: { model: "life", input: { prompt: "x" } } });
  expect(refused).toMatchObject({ status: 503, body: { error: { code: "model_unavailable" } } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  scene.clock.skip(600_000);
  expect(await listed()).toEqual(["life"]);
  const again = await scene.begin();
  expect((await scene.until(again.id)).status).toBe("succeeded");
});

test("a re-sent submission is the same request, byte for byte, under the same reference", async () => {
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

test("while a provider makes us wait the generation is running, without a message, and its credits are held", async () => {
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

test("jobs that are under way occupy no connection of the provider's pool: more of them than connections", async () => {
  const scene = await openScene({ routes: [FAL], env: { GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "1000" } });
  scene.simulator.script({ fault: "stuck" });
  await Promise.all(Array.from({ length: 80 }, () => scene.begin()));
  await scene.eventually(() => scene.received().length === 80, "all submissions");
  expect(scene.rooms.supervisor.counts()).toMatchObject({ queued: 0, running: 80 });
});
