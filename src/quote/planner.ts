// Caches the last plan per model: a request that differs from the last one in nothing that decides on a plan gets the same plan
// and order.
import { fieldsOf, isChoice, isLink, isRange } from "../../catalogue/capabilities.ts";
import type { Model } from "../../catalogue/schema.ts";
import { memoize } from "../collections/memoize.ts";
import type { Ordered } from "../domain/delivery-check.ts";
import type { Credits, Json, JsonObject } from "../domain/types.ts";
import { orderedOf } from "./expected-delivery.ts";
import { makePlan, type Plan, type PlanRequest, type RouteState } from "./plan.ts";
import { priceRoutes } from "./price.ts";

export type PlannerDeps = Pick<PlanRequest, "routeState" | "expectedMs" | "cannotGive">;
/** A plan, and the deliverable that it orders. */
export type Planned = { plan: Plan; ordered: Ordered };
export type Planner = (request: Omit<PlanRequest, "prices" | keyof PlannerDeps>) => Planned;

/** The inputs of the last plan of a model. */
type Last = {
  planned: Planned;
  /** The values of the deciding fields. */
  values: readonly (Json | undefined)[];
  /** The requested aspect ratio; a default is no order. */
  aspect: Json | undefined;
  maxCostCredits: Credits;
  maxWaitMs: number | null;
  states: readonly RouteState[];
  expectedMs: readonly (number | undefined)[];
};

/** The fields whose values decide on a plan; null where text decides too: text is billed, or a route accepts less text. */
const decidingFields = memoize((model: Model): string[] | null => {
  const fields = fieldsOf(model);
  const texts = fields.filter(([, field]) => !isChoice(field) && !isRange(field) && !isLink(field));
  const sized = (model.delivers.size ?? []).flatMap(({ when = {} }) => Object.keys(when));
  const isNarrowed = texts.some(([name]) => sized.includes(name) || model.routes.some(({ takes }) => takes[name] !== undefined));
  if (isNarrowed || model.price.unit === "1k_characters") return null;
  return fields.filter((one) => !texts.includes(one)).map(([name]) => name);
});

const isAsBefore = ({ routes }: Model, { routeState, expectedMs }: PlannerDeps, { states, expectedMs: times }: Last): boolean => {
  for (let at = 0; at < routes.length; at += 1) {
    const id = routes[at]?.id ?? "";
    if (routeState(id) !== states[at] || expectedMs(id) !== times[at]) return false;
  }
  return true;
};

const hasValues = (filled: JsonObject, names: readonly string[], { values }: Last): boolean => {
  for (let at = 0; at < names.length; at += 1) if (filled[names[at] ?? ""] !== values[at]) return false;
  return true;
};

/**
 * Returns the plans of `makePlan`, prices included, with the same refusals, and the orders of `orderedOf`. Plans of inputs
 * with media are never cached, because clips are billed by their lengths.
 */
export const createPlanner = (deps: PlannerDeps): Planner => {
  const lastOf = memoize((_model: Model): { last: Last | null } => ({ last: null }));
  return (request) => {
    const { model, checked, measured, maxCostCredits, maxWaitMs } = request;
    const names = checked.links.length === 0 && measured.length === 0 ? decidingFields(model) : null;
    const memory = lastOf(model);
    const { last } = memory;
    if (
      names !== null &&
      last !== null &&
      last.maxCostCredits === maxCostCredits &&
      last.maxWaitMs === maxWaitMs &&
      last.aspect === checked.raw.aspect_ratio &&
      hasValues(checked.filled, names, last) &&
      isAsBefore(model, deps, last)
    )
      return last.planned;
    const plan = makePlan({ ...request, ...deps, prices: priceRoutes(model, checked, measured) });
    const planned = { plan, ordered: orderedOf(model, checked, measured) };
    if (names !== null)
      memory.last = {
        ...{ planned, maxCostCredits, maxWaitMs, values: names.map((name) => checked.filled[name]) },
        aspect: checked.raw.aspect_ratio,
        states: model.routes.map(({ id }) => deps.routeState(id)),
        expectedMs: model.routes.map(({ id }) => deps.expectedMs(id)),
      };
    return planned;
  };
};
