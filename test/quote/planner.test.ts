// Cached plans: a request gets the same plan or error as without earlier requests.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { orderedOf } from "../../src/quote/expected-delivery.ts";
import { makePlan, type PlanRequest, type RouteState } from "../../src/quote/plan.ts";
import { createPlanner } from "../../src/quote/planner.ts";
import { priceRoutes } from "../../src/quote/price.ts";
import { answerOf, catalogue, check, inputsFrom, lengthsFor, runs, shipped } from "./inputs.ts";

type Step = {
  input: JsonObject;
  /** The length of each of its clips. */
  lengthMs: number;
  maxCostCredits: number;
  maxWaitMs: number | null;
  /** A route of the model that changes before the request, and its new state. */
  change: { at: number; state: RouteState; expectedMs: number | undefined } | null;
};

/** Few different values, most without media, so that most requests repeat an earlier one. */
const stepsOf = (model: Model): fc.Arbitrary<{ modelId: string; steps: Step[] }> => {
  const entry = modelEntry(model, () => true);
  const isMedia = (value: unknown) => Array.isArray(value) || (typeof value === "string" && value.startsWith("https://"));
  const plain = inputsFrom(entry).map((input) =>
    Object.fromEntries(Object.entries(input).filter(([, value]) => !isMedia(value))),
  );
  const inputs = fc.array(fc.oneof({ weight: 5, arbitrary: plain }, inputsFrom(entry)), { minLength: 1, maxLength: 2 });
  return inputs.chain((few) => {
    const step = fc.record({
      input: fc
        .tuple(fc.constantFrom(...few), fc.constantFrom("a word. ", "many words. ".repeat(160)))
        .map(([input, more]) =>
          typeof input.prompt === "string" ? { ...input, prompt: `${input.prompt.slice(0, 100)}${more}`.toWellFormed() } : input,
        ),
      lengthMs: fc.constantFrom(4_000, 4_000, 9_000),
      maxCostCredits: fc.constantFrom(...Array(9).fill(10_000), 30),
      maxWaitMs: fc.constantFrom(null, 20_000),
      change: fc.option(
        fc.record({
          at: fc.nat(model.routes.length - 1),
          state: fc.constantFrom<RouteState[]>("up", "up", "down", "unconfigured"),
          expectedMs: fc.constantFrom(undefined, undefined, 1_000, 90_000),
        }),
        { freq: 6 },
      ),
    });
    return fc.record({ modelId: fc.constant(model.id), steps: fc.array(step, { minLength: 2, maxLength: 12 }) });
  });
};

/** The plan without earlier requests. */
const plannedAlone = (request: Omit<PlanRequest, "prices">) => {
  const { model, checked, measured } = request;
  const plan = makePlan({ ...request, prices: priceRoutes(model, checked, measured) });
  return { plan, ordered: orderedOf(model, checked, measured) };
};

/** Timeout of a test that computes for several seconds on a busy machine. */
const PATIENCE_MS = 60_000;

test(
  "a request gets the same plan or error from the cache as without earlier requests",
  () => {
    let again = 0;
    fc.assert(
      fc.property(fc.oneof(...catalogue.models.map(stepsOf)), ({ modelId, steps }) => {
        const model = shipped(modelId);
        const states = model.routes.map((): RouteState => "up");
        const times = model.routes.map((): number | undefined => undefined);
        const placeOf = (routeId: string) => model.routes.findIndex(({ id }) => id === routeId);
        const parts = {
          routeState: (routeId: string) => states[placeOf(routeId)] ?? "up",
          expectedMs: (routeId: string) => times[placeOf(routeId)],
        };
        const plan = createPlanner(parts);
        const plans = new Set<unknown>();
        for (const { input, lengthMs, maxCostCredits, maxWaitMs, change } of steps) {
          if (change) [states[change.at], times[change.at]] = [change.state, change.expectedMs];
          // An input without its media may lack a required field.
          if (answerOf(() => check(model, input)) !== "accepted") continue;
          const checked = check(model, input);
          const measured = lengthsFor(checked, [lengthMs]);
          const request = { model, checked, measured, maxCostCredits, maxWaitMs };
          const alone = () => plannedAlone({ ...request, ...parts });
          let planned: unknown;
          const answer = answerOf(() => {
            planned = plan(request);
          });
          expect(answer).toBe(answerOf(alone));
          if (answer === "accepted") expect(planned).toEqual(alone());
          if (plans.has(planned)) again += 1;
          if (planned !== undefined) plans.add(planned);
        }
      }),
      runs(3_000),
    );
    // The test proves nothing unless the cache is used.
    expect(again).toBeGreaterThan(300);
  },
  PATIENCE_MS,
);

/** Plans a short, a long and the short prompt again, and compares each with a plan without cache. */
const differs = (model: Model, short: string, long: string) => {
  const parts = { routeState: (): RouteState => "up", expectedMs: () => undefined };
  const plan = createPlanner(parts);
  for (const prompt of [short, long, short]) {
    const checked = check(model, { prompt });
    const request = { model, checked, measured: [], maxCostCredits: 10_000, maxWaitMs: null };
    expect(plan(request)).toEqual(plannedAlone({ ...request, ...parts }));
  }
};

test("a cached plan is not reused for a prompt of another billed length", () => {
  const { routes, ...model } = shipped("sim-speech-1");
  differs({ ...model, routes: routes.map((route) => ({ ...route, takes: {} })) }, "short", "a long text. ".repeat(700));
});

test("a cached plan is not reused for a prompt that is too long for one of its routes", () => {
  const { routes, ...model } = shipped("vidmodel-2.0-fast");
  const narrowed = routes.map((route, at) =>
    at === 0 ? { ...route, takes: { ...route.takes, prompt: { max_length: 20 } } } : route,
  );
  differs({ ...model, routes: narrowed }, "short", "a text of more than twenty characters");
});

test("orders an aspect ratio that was requested, but not the same default value", () => {
  const model = shipped("vidmodel-2.0-fast");
  const plan = createPlanner({ routeState: () => "up", expectedMs: () => undefined });
  const orderedFor = (input: JsonObject) =>
    plan({ model, checked: check(model, { prompt: "a kite", ...input }), measured: [], maxCostCredits: 10_000, maxWaitMs: null })
      .ordered.aspect;
  expect([{}, { aspect_ratio: "16:9" }, {}].map(orderedFor)).toEqual([undefined, "16:9", undefined]);
});

test("returns the identical plan object for two requests that differ only in their prompt", () => {
  const model = shipped("vidmodel-2.0-fast");
  const plan = createPlanner({ routeState: () => "up", expectedMs: () => undefined });
  const planOf = (prompt: string) =>
    plan({ model, checked: check(model, { prompt }), measured: [], maxCostCredits: 10_000, maxWaitMs: null });
  expect(planOf("a lighthouse")).toBe(planOf("a harbour at night"));
});
