// Planning: which routes are planned, in which order, and which error is returned when no route remains.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import { explainPlan, makePlan, type PlanRequest, type RouteState } from "../../src/quote/plan.ts";
import { priceRoutes } from "../../src/quote/price.ts";
import { answerOf, catalogue, check, inputsFrom, lengthsFor, runs, shipped } from "./inputs.ts";

type Changes = Omit<Partial<PlanRequest>, "routeState" | "expectedMs"> & {
  states?: Record<string, RouteState>;
  expected?: Record<string, number>;
};

/** A plan request with all routes up and no limit reached, unless the changes override it. */
const request = (modelId: string, input: Record<string, unknown>, changes: Changes = {}, lengthsMs = [10_000]): PlanRequest => {
  const model = changes.model ?? shipped(modelId);
  const checked = check(model, { prompt: "a fox", ...input });
  const measured = lengthsFor(checked, lengthsMs);
  const { states = {}, expected = {}, ...rest } = changes;
  return {
    model,
    checked,
    measured,
    prices: priceRoutes(model, checked, measured),
    maxCostCredits: 10_000,
    maxWaitMs: null,
    routeState: (routeId) => states[routeId.replace(`${modelId}/`, "")] ?? "up",
    expectedMs: (routeId) => expected[routeId.replace(`${modelId}/`, "")],
    ...rest,
  };
};
const verdicts = (of: PlanRequest) => explainPlan(of).considered.map(({ verdict }) => verdict);
const order = (of: PlanRequest) => makePlan(of).routes.map(({ routeId }) => routeId.split("/")[1]);

test("plans routes from the cheapest on, quotes the lowest price and reserves the highest", () => {
  const plan = makePlan(request("vidmodel-2.0", {}));
  expect(plan.quotedCredits).toBe(75);
  expect(plan.reservedCredits).toBe(90);
  expect(plan.routes).toEqual([
    {
      routeId: "vidmodel-2.0/fal",
      priceCredits: 75,
      timeoutMs: 1_800_000,
      onRefusal: "fail",
      onLost: "next",
    },
    {
      routeId: "vidmodel-2.0/replicate",
      priceCredits: 83,
      timeoutMs: 2_400_000,
      onRefusal: "fail",
      onLost: "next",
    },
    {
      routeId: "vidmodel-2.0/fal-us",
      priceCredits: 90,
      timeoutMs: 1_800_000,
      onRefusal: "fail",
      onLost: "next",
    },
  ]);
});

test("freezes the provider's cost of the input with each planned route that has one, and with no other", () => {
  const bare = shipped("vidmodel-2.0-fast");
  const cost = [
    { when: { resolution: "480p" }, usd: "0.0568" },
    { when: { resolution: "720p" }, usd: "0.122" },
  ];
  const model = { ...bare, routes: bare.routes.map((route) => (route.id.endsWith("/fal") ? { ...route, cost } : route)) };
  const costs = (resolution: string) =>
    makePlan(request("vidmodel-2.0-fast", { duration: 4, resolution }, { model })).routes.map((route) => route.costMicroUsd);
  // 4 s at 0.0568 USD: above the price of 20 credits.
  expect(costs("480p")).toEqual([227_200, undefined, undefined, undefined]);
  expect(costs("720p")).toEqual([488_000, undefined, undefined, undefined]);
  expect(makePlan(request("vidmodel-2.0-fast", {})).routes.some((route) => "costMicroUsd" in route)).toBe(false);
});

test("orders routes of equal price by expected time, then by catalogue order", () => {
  const prices = ["fal", "replicate", "fal-us"].map((route) => ({ routeId: `vidmodel-2.0/${route}`, credits: 75 }));
  expect(order(request("vidmodel-2.0", {}, { prices }))).toEqual(["fal-us", "fal", "replicate"]);
  const expected = { fal: 5_000, replicate: 5_000, "fal-us": 5_000 };
  expect(order(request("vidmodel-2.0", {}, { prices, expected }))).toEqual(["fal", "replicate", "fal-us"]);
  const dearer = [{ routeId: "vidmodel-2.0/fal", credits: 76 }, ...prices.slice(1)];
  expect(order(request("vidmodel-2.0", {}, { prices: dearer, expected }))).toEqual(["replicate", "fal-us", "fal"]);
});

test("prefers the measured expected time to that of the catalogue", () => {
  const learnt = request("vidmodel-2.0", {}, { expected: { fal: 42_000 } });
  expect(explainPlan(learnt).considered[0]?.expectedMs).toBe(42_000);
});

describe("the verdict on each route, and the error if no route remains:", () => {
  const rows: [name: string, of: PlanRequest, verdicts: string[], answer: string][] = [
    [
      "a resolution that one route lacks",
      request("vidmodel-2.5", { resolution: "1080p" }),
      [
        "planned",
        "cannot do this input: input.resolution: 1080p is not offered with the rest of this input; choose 480p or 720p",
        "planned",
      ],
      "accepted",
    ],
    [
      "a prompt that is too long for the only configured route",
      request("vidmodel-2.5", { prompt: "x".repeat(2_001) }, { states: { fal: "unconfigured", "fal-us": "unconfigured" } }),
      ["not configured", "cannot do this input: input.prompt: 2001 characters are too many; at most 2000", "not configured"],
      "invalid_input input.prompt: 2001 characters are too many; at most 2000",
    ],
    [
      "the longest prompt of the only configured route",
      request("vidmodel-2.5", { prompt: "x".repeat(2_000) }, { states: { fal: "unconfigured", "fal-us": "unconfigured" } }),
      ["not configured", "planned", "not configured"],
      "accepted",
    ],
    [
      "a field that the only configured route lacks",
      request("sim-edit-1", { image_url: "https://m.example/a", negative_prompt: "x" }, { states: { fal: "unconfigured" } }),
      ["cannot do this input: input.negative_prompt: cannot be used with the rest of this input", "not configured"],
      "invalid_input input.negative_prompt: cannot be used with the rest of this input",
    ],
    [
      "a clip that is too long for the only route that is up",
      request(
        "sim-lipsync-1",
        { image_url: "https://m.example/a", audio_url: "https://m.example/b" },
        { states: { fal: "down" } },
        [120_101],
      ),
      ["down", "cannot do this input: input.audio_url: is 120.101 s long; it must be at most 120 s"],
      "model_unavailable model: every route of sim-lipsync-1 is down at the moment; try again shortly.",
    ],
    [
      "max_cost_usd equal to the price of the second route",
      request("vidmodel-2.0", {}, { maxCostCredits: 83 }),
      ["planned", "planned", "over max_cost_usd"],
      "accepted",
    ],
    [
      "max_cost_usd one credit below the cheapest route",
      request("vidmodel-2.0", {}, { maxCostCredits: 74 }),
      ["over max_cost_usd", "over max_cost_usd", "over max_cost_usd"],
      "max_cost_exceeded max_cost_usd: too low; the cheapest route costs 0.75 USD",
    ],
    [
      "max_cost_usd of 0",
      request("vidmodel-2.0", {}, { maxCostCredits: 0 }),
      ["over max_cost_usd", "over max_cost_usd", "over max_cost_usd"],
      "max_cost_exceeded max_cost_usd: too low; the cheapest route costs 0.75 USD",
    ],
    [
      "max_wait_s equal to an expected time",
      request("vidmodel-2.0", {}, { maxWaitMs: 110_000 }),
      ["planned", "too slow: expected to take 130 s", "planned"],
      "accepted",
    ],
    [
      "max_wait_s below the quickest route",
      request("vidmodel-2.0", {}, { maxWaitMs: 99_000 }),
      ["too slow: expected to take 110 s", "too slow: expected to take 130 s", "too slow: expected to take 100 s"],
      "invalid_input max_wait_s: 99 is too short; the quickest route is expected to take 100 s",
    ],
    ["one route down", request("vidmodel-2.0", {}, { states: { fal: "down" } }), ["down", "planned", "planned"], "accepted"],
    [
      "all routes down",
      request("vidmodel-2.0", {}, { states: { fal: "down", replicate: "down", "fal-us": "down" } }),
      ["down", "down", "down"],
      "model_unavailable model: every route of vidmodel-2.0 is down at the moment; try again shortly.",
    ],
    [
      "no route configured",
      request("vidmodel-2.0", {}, { states: { fal: "unconfigured", replicate: "unconfigured", "fal-us": "unconfigured" } }),
      ["not configured", "not configured", "not configured"],
      "model_not_available model: vidmodel-2.0 is not available; no route of it is configured.",
    ],
    // Several filters: a route has the verdict of the first filter; the error comes from the filter that removes the last route.
    [
      "an input filter before the cost filter",
      request("vidmodel-2.5", { resolution: "1080p" }, { maxCostCredits: 1 }),
      [
        "over max_cost_usd",
        "cannot do this input: input.resolution: 1080p is not offered with the rest of this input; choose 480p or 720p",
        "over max_cost_usd",
      ],
      "max_cost_exceeded max_cost_usd: too low; the cheapest route costs 2.40 USD",
    ],
    [
      "the cost filter before the wait filter before the health filter",
      request(
        "vidmodel-2.0",
        {},
        { maxCostCredits: 83, maxWaitMs: 120_000, states: { fal: "down", replicate: "down", "fal-us": "down" } },
      ),
      ["down", "too slow: expected to take 130 s", "over max_cost_usd"],
      "model_unavailable model: every route of vidmodel-2.0 is down at the moment; try again shortly.",
    ],
    [
      "the error states the shortest expected time among routes within the cost limit",
      request("vidmodel-2.0", {}, { maxCostCredits: 83, maxWaitMs: 105_000 }),
      ["too slow: expected to take 110 s", "too slow: expected to take 130 s", "over max_cost_usd"],
      "invalid_input max_wait_s: 105 is too short; the quickest route is expected to take 110 s",
    ],
  ];
  test.each(rows)("%s", (_name, of, expected, answer) => {
    expect(verdicts(of)).toEqual(expected);
    expect(answerOf(() => makePlan(of))).toBe(answer);
  });
});

test("plans a route that lacks a field if the input has the default value", () => {
  const model = shipped("vidmodel-2.0");
  const silent = { ...model, routes: model.routes.map((route) => ({ ...route, takes: { audio: null } })) };
  expect(order(request("vidmodel-2.0", { audio: false }, { model: silent }))).toHaveLength(3);
  expect(answerOf(() => makePlan(request("vidmodel-2.0", { audio: true }, { model: silent })))).toStartWith(
    "invalid_input input.audio:",
  );
});

test("joins the different reasons when no route accepts the input", () => {
  const model = shipped("vidmodel-2.0");
  const takes = [{ duration: { max: 8 } }, { image_urls: null }, { duration: { values: [5, 10] } }];
  const narrow = { ...model, routes: model.routes.map((route, at) => ({ ...route, takes: takes[at] ?? {} })) };
  const of = request("vidmodel-2.0", { duration: 9, image_urls: ["https://m.example/a"] }, { model: narrow });
  expect(answerOf(() => makePlan(of))).toBe(
    "invalid_input input.duration: 9 is not offered; choose 4 to 8; " +
      "or input.image_urls: cannot be used with the rest of this input; " +
      "or input.duration: 9 is not offered with the rest of this input; choose 5 or 10",
  );
});

test("explainPlan never throws and agrees with the plan", () => {
  const state = fc.constantFrom<RouteState>("up", "up", "down", "unconfigured");
  const settings = fc.record({
    states: fc.array(state, { minLength: 4, maxLength: 4 }),
    maxCostCredits: fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.constant(10_000)),
    maxWaitMs: fc.option(fc.integer({ min: 1, max: 200 }).map((s) => s * 1_000)),
    lengthsMs: fc.array(fc.integer({ min: 4_000, max: 30_000 }), { minLength: 1, maxLength: 3 }),
  });
  for (const model of catalogue.models)
    fc.assert(
      fc.property(
        inputsFrom(modelEntry(model, () => true)),
        settings,
        (input, { states, maxCostCredits, maxWaitMs, lengthsMs }) => {
          const checked = check(model, input);
          const measured = lengthsFor(checked, lengthsMs);
          const prices = priceRoutes(model, checked, measured);
          const routeState = (routeId: string) => states[model.routes.findIndex(({ id }) => id === routeId)] ?? "up";
          const of = { model, checked, measured, prices, maxCostCredits, maxWaitMs, routeState, expectedMs: () => undefined };
          const explained = explainPlan(of);
          expect(explained.considered.map(({ routeId }) => routeId)).toEqual(model.routes.map(({ id }) => id));
          const planned = explained.considered.filter(({ verdict }) => verdict === "planned");
          if ("refusal" in explained) {
            expect(explained.refusal).toBeInstanceOf(ApiError);
            expect(planned).toEqual([]);
            return;
          }
          const { routes, quotedCredits, reservedCredits } = explained.plan;
          const credits = routes.map(({ priceCredits }) => priceCredits);
          expect(routes.map(({ routeId }) => routeId).sort()).toEqual(planned.map(({ routeId }) => routeId).sort());
          expect(credits).toEqual(credits.toSorted((a, b) => a - b));
          expect(quotedCredits).toBe(Math.min(...credits));
          expect(reservedCredits).toBe(Math.max(...credits));
          expect(reservedCredits).toBeLessThanOrEqual(maxCostCredits);
          const expectedMs = new Map(explained.considered.map((route) => [route.routeId, route.expectedMs]));
          for (const { routeId, timeoutMs } of routes) {
            expect(routeState(routeId)).toBe("up");
            expect(maxWaitMs === null || (expectedMs.get(routeId) ?? 0) <= maxWaitMs).toBe(true);
            expect(timeoutMs).toBeLessThanOrEqual(2_400_000);
          }
        },
      ),
      runs(60),
    );
});
