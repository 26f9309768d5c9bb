// Chooses the routes that a request may run on, in order, and what to reserve; or says which filter left none.
import { ok } from "node:assert/strict";
import { fieldsOf, isLink, routeField } from "../../catalogue/reach.ts";
import type { Model, Route } from "../../catalogue/schema.ts";
import { Refusal, type RefusalCode } from "../refusal.ts";
import type { Credits, Measured, PlannedRoute } from "../terms.ts";
import { clipFault, fieldFault, measuredOf } from "./field.ts";
import type { CheckedInput } from "./input.ts";
import type { RoutePrice } from "./price.ts";

/** `down`: by its health or a fault; `unconfigured`: no key, or switched off by the operator. */
export type RouteState = "up" | "down" | "unconfigured";

export type PlanRequest = {
  model: Model;
  checked: CheckedInput;
  measured: readonly Measured[];
  /** From `priceRoutes`. */
  prices: readonly RoutePrice[];
  maxCostCredits: Credits;
  /** `max_wait_s` in ms; null when absent: no route is skipped for time. */
  maxWaitMs: number | null;
  routeState: (routeId: string) => RouteState;
  /** The learnt time of a route, ms; undefined: the catalogue's. */
  expectedMs: (routeId: string) => number | undefined;
};

/** A route of the model and why it is in the plan or not: `verdict` is `planned` or the reason against it. */
export type ConsideredRoute = { routeId: string; priceCredits: Credits | null; expectedMs: number; verdict: string };

export type Plan = {
  /** In the order of trying: by price, then expected time, then the catalogue's order. Never empty. */
  routes: PlannedRoute[];
  /** The cheapest route's price. */
  quotedCredits: Credits;
  /** The dearest route's price. */
  reservedCredits: Credits;
  /** Every route of the model, in the catalogue's order. */
  considered: ConsideredRoute[];
};

/** A plan or the refusal that stands in for it; routes that were considered in both cases. */
export type Explanation = { considered: ConsideredRoute[] } & ({ plan: Plan } | { refusal: Refusal });

type Candidate = { route: Route; considered: ConsideredRoute };

/**
 * Filters in the order of the decisions (can do this input, within `max_cost_usd`, expected within `max_wait_s`, not down)
 * and sorts what is left.
 * @throws the refusal of the filter that left no route: `invalid_input`, `max_cost_exceeded`, `invalid_input` naming the
 *   shortest expected time, `model_unavailable`; `model_not_available` when no route is configured.
 */
export const makePlan = (request: PlanRequest): Plan => {
  const explanation = explainPlan(request);
  if ("refusal" in explanation) throw explanation.refusal;
  return explanation.plan;
};

/** The same as `makePlan`, with what was considered of every route, and a refusal as a value. */
export const explainPlan = (request: PlanRequest): Explanation => {
  const { model, maxCostCredits, maxWaitMs } = request;
  const all = model.routes.map((route): Candidate => ({ route, considered: consider(request, route) }));
  const considered = all.map((candidate) => candidate.considered);
  const no = (code: RefusalCode, message: string): Explanation => ({ considered, refusal: new Refusal(code, message) });

  const configured = sift(all, ({ route }) => (request.routeState(route.id) === "unconfigured" ? "not configured" : undefined));
  if (configured.length === 0)
    return no("model_not_available", `model: ${model.id} is not available; no route of it is configured.`);

  const lacks = new Set<string>();
  const able = sift(configured, ({ route }) => {
    const reason = cannotDo(request, route);
    if (reason) lacks.add(reason);
    return reason && `cannot do this input: ${reason}`;
  });
  if (able.length === 0) return no("invalid_input", [...lacks].join("; or "));

  const affordable = sift(able, (candidate) => (priceOf(candidate) > maxCostCredits ? "over max_cost_usd" : undefined));
  if (affordable.length === 0)
    return no(
      "max_cost_exceeded",
      `max_cost_usd: ${usd(maxCostCredits)} is too low; the cheapest route costs ${usd(Math.min(...able.map(priceOf)))} USD`,
    );

  const timely = sift(affordable, ({ considered: { expectedMs } }) =>
    maxWaitMs !== null && expectedMs > maxWaitMs ? `too slow: expected to take ${inSeconds(expectedMs)} s` : undefined,
  );
  if (timely.length === 0) {
    const shortestMs = Math.min(...affordable.map((candidate) => candidate.considered.expectedMs));
    return no(
      "invalid_input",
      `max_wait_s: ${inSeconds(maxWaitMs ?? 0)} is too short; the quickest route is expected to take ${inSeconds(shortestMs)} s`,
    );
  }

  const up = sift(timely, ({ route }) => (request.routeState(route.id) === "down" ? "down" : undefined));
  if (up.length === 0)
    return no("model_unavailable", `model: every route of ${model.id} is down at the moment; try again shortly.`);

  // Sorting is stable, so that a tie in price and time keeps the catalogue's order.
  const planned = up.toSorted((a, b) => priceOf(a) - priceOf(b) || a.considered.expectedMs - b.considered.expectedMs);
  const prices = planned.map(priceOf);
  const plan: Plan = {
    routes: planned.map(plannedRoute),
    quotedCredits: Math.min(...prices),
    reservedCredits: Math.max(...prices),
    considered,
  };
  return { considered, plan };
};

const consider = ({ prices, expectedMs }: PlanRequest, route: Route): ConsideredRoute => ({
  routeId: route.id,
  priceCredits: prices.find(({ routeId }) => routeId === route.id)?.credits ?? null,
  expectedMs: expectedMs(route.id) ?? route.expected_s * 1_000,
  verdict: "planned",
});

/** Keeps the candidates that have no reason against them; the others get theirs as the verdict. */
const sift = (candidates: readonly Candidate[], reasonAgainst: (candidate: Candidate) => string | undefined): Candidate[] =>
  candidates.filter((candidate) => {
    const reason = reasonAgainst(candidate);
    if (reason) candidate.considered.verdict = reason;
    return !reason;
  });

/** Why a route cannot do what its model offers, naming the field; undefined when it can. */
const cannotDo = ({ model, checked, measured }: PlanRequest, route: Route): string | undefined => {
  for (const [name, field] of fieldsOf(model)) {
    const value = checked.filled[name];
    if (value === undefined || route.takes[name] === undefined) continue;
    const reached = routeField(route, name, field);
    if (!reached) {
      // A field that a route lacks can still hold what the model does without it: its default.
      if ("default" in field && value === field.default) continue;
      return `input.${name}: cannot be used with the rest of this input`;
    }
    const fault = fieldFault(name, reached, value, "with the rest of this input");
    if (fault) return `input.${name}: ${fault}`;
    const clip = isLink(reached) ? clipFault(name, reached, measuredOf(measured, name)) : undefined;
    if (clip) return `${clip.at}: ${clip.says}`;
  }
  return undefined;
};

const priceOf = ({ route, considered: { priceCredits } }: Candidate): Credits => {
  ok(priceCredits !== null, `${route.id} can do an input that it has no price for`);
  return priceCredits;
};

const plannedRoute = (candidate: Candidate): PlannedRoute => ({
  routeId: candidate.route.id,
  priceCredits: priceOf(candidate),
  expectedMs: candidate.considered.expectedMs,
  timeoutMs: candidate.route.timeout_s * 1_000,
  onRefusal: candidate.route.on_refusal,
  onLost: candidate.route.on_lost,
});

/** Credits as USD, for people to read. */
const usd = (credits: Credits) => (credits / 100).toFixed(2);
const inSeconds = (ms: number) => Math.ceil(ms / 1_000);
