// Plans request after request: one that differs from the last of its model in nothing that a plan depends on has the same plan.
import { fieldsOf, isChoice, isLink, isRange } from "../../catalogue/reach.ts";
import type { Model } from "../../catalogue/schema.ts";
import { once } from "../once.ts";
import type { Credits, Json, JsonObject } from "../terms.ts";
import { makePlan, type Plan, type PlanRequest, type RouteState } from "./plan.ts";
import { priceRoutes } from "./price.ts";

export type PlannerParts = Pick<PlanRequest, "routeState" | "expectedMs">;
export type Planner = (request: Omit<PlanRequest, "prices" | keyof PlannerParts>) => Plan;

/** All that the last plan of a model was made from. */
type Last = {
  plan: Plan;
  /** Of the fields that decide. */
  values: readonly (Json | undefined)[];
  maxCostCredits: Credits;
  maxWaitMs: number | null;
  states: readonly RouteState[];
  expectedMs: readonly (number | undefined)[];
};

/** The fields whose values decide on a plan; null where texts do as well: they are billed, or a route takes less of them. */
const decidingFields = once((model: Model): string[] | null => {
  const fields = fieldsOf(model);
  const texts = fields.filter(([, field]) => !isChoice(field) && !isRange(field) && !isLink(field));
  const isNarrowed = texts.some(([name]) => model.routes.some(({ takes }) => takes[name] !== undefined));
  if (isNarrowed || model.price.unit === "1k_characters") return null;
  return fields.filter((one) => !texts.includes(one)).map(([name]) => name);
});

const isAsBefore = (
  { routes }: Model,
  { routeState, expectedMs }: PlannerParts,
  { states, expectedMs: times }: Last,
): boolean => {
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
 * Makes plans as `makePlan` does, prices included, and with the same refusals. Inputs with media are always planned anew: clips are billed by
 * their lengths.
 */
export const openPlanner = (parts: PlannerParts): Planner => {
  const lastOf = once((_model: Model): { last: Last | null } => ({ last: null }));
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
      hasValues(checked.filled, names, last) &&
      isAsBefore(model, parts, last)
    )
      return last.plan;
    const plan = makePlan({ ...request, ...parts, prices: priceRoutes(model, checked, measured) });
    if (names !== null)
      memory.last = {
        ...{ plan, maxCostCredits, maxWaitMs, values: names.map((name) => checked.filled[name]) },
        states: model.routes.map(({ id }) => parts.routeState(id)),
        expectedMs: model.routes.map(({ id }) => parts.expectedMs(id)),
      };
    return plan;
  };
};
