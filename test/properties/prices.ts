// Property of prices: for any input of any model, whole credits, the lowest price as quote and the highest as reserve.
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { checkMeasured } from "../../src/quote/check-input.ts";
import { makePlan, type RouteState } from "../../src/quote/plan.ts";
import { priceRoutes } from "../../src/quote/price.ts";
import { catalogue, check, inputsFrom, lengthsFor, shipped } from "../quote/inputs.ts";
import type { Property } from "./property.ts";

type Question = {
  modelId: string;
  input: JsonObject;
  /** Durations of its clips, ms. */
  lengthsMs: number[];
  maxCostCredits: number;
  /** One for each route of the model. */
  states: RouteState[];
};

const questionOf = (model: Model): fc.Arbitrary<Question> =>
  fc.record({
    modelId: fc.constant(model.id),
    input: inputsFrom(modelEntry(model, () => true)),
    lengthsMs: fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 4 }),
    maxCostCredits: fc.oneof(fc.constant(10_000), fc.integer({ min: 1, max: 600 })),
    states: fc.array(fc.constantFrom<RouteState[]>("up", "up", "up", "down", "unconfigured"), {
      minLength: model.routes.length,
      maxLength: model.routes.length,
    }),
  });

const wrong = (what: string): never => {
  throw new Error(what);
};
const isCredits = (credits: number): boolean => Number.isSafeInteger(credits) && credits >= 1;

/** An API error is a valid result; any other error is a fault. */
const orRefused = <T>(work: () => T): T | null => {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof ApiError) return null;
    throw fault;
  }
};

const ask = ({ modelId, input, lengthsMs, maxCostCredits, states }: Question): "planned" | "refused" => {
  const model = shipped(modelId);
  const checked = check(model, input);
  const measured = lengthsFor(checked, lengthsMs);
  const prices = priceRoutes(model, checked, measured);
  for (const { routeId, credits } of prices) if (!isCredits(credits)) wrong(`${routeId} costs ${credits}`);

  // A larger input never costs less.
  const longer = { ...checked, filled: { ...checked.filled, duration: Number(checked.filled.duration ?? 0) + 1 } };
  const stretched = measured.map((one) => (one.ms === undefined ? one : { ...one, ms: one.ms + 1 }));
  const more = [priceRoutes(model, longer, measured), priceRoutes(model, checked, stretched)];
  for (const [at, { routeId, credits }] of prices.entries())
    for (const later of more) if ((later[at]?.credits ?? 0) < credits) wrong(`${routeId} costs less for more`);

  const stateOf = new Map(model.routes.map(({ id }, at) => [id, states[at] ?? "up"]));
  const plan = orRefused(() => {
    checkMeasured(model, checked, measured);
    return makePlan({
      ...{ model, checked, measured, prices, maxCostCredits, maxWaitMs: null },
      ...{ routeState: (routeId) => stateOf.get(routeId) ?? "up", expectedMs: () => undefined },
    });
  });
  if (!plan) return "refused";
  const planned = plan.routes.map(({ priceCredits }) => priceCredits);
  const given = new Map(prices.map(({ routeId, credits }) => [routeId, credits]));
  if (plan.quotedCredits !== Math.min(...planned)) wrong(`quoted ${plan.quotedCredits} of ${planned}`);
  if (plan.reservedCredits !== Math.max(...planned)) wrong(`reserved ${plan.reservedCredits} of ${planned}`);
  if (plan.reservedCredits > maxCostCredits) wrong(`reserved ${plan.reservedCredits} over ${maxCostCredits}`);
  for (const { routeId, priceCredits } of plan.routes) {
    if (priceCredits !== given.get(routeId)) wrong(`${routeId} is planned at ${priceCredits}`);
    if (stateOf.get(routeId) !== "up") wrong(`${routeId} is planned and ${stateOf.get(routeId)}`);
  }
  if (planned.some((credits, at) => credits < (planned[at - 1] ?? 0))) wrong(`not from cheap to dear: ${planned}`);
  return "planned";
};

export const priceProperty: Property<Question> = {
  name: "prices",
  says: "prices are whole credits above 0 and never lower for more; the quote is the plan's lowest and the reserve its highest",
  runsOf: (runs) => runs,
  arbitrary: fc.oneof(...catalogue.models.map(questionOf)),
  open: () => {
    let planned = 0;
    return {
      figures: () => ({ planned }),
      play: (question) => {
        if (ask(question) === "planned") planned += 1;
      },
    };
  },
};
