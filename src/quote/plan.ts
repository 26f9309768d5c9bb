// Chooses the routes that a request may run on, their order and the credits to reserve, or names the filter that left no route.
import { ok } from "node:assert/strict";
import { fieldsOf, isLink, routeField } from "../../catalogue/capabilities.ts";
import type { Model, Route } from "../../catalogue/schema.ts";
import { memoize } from "../collections/memoize.ts";
import { ApiError, type ApiErrorCode } from "../domain/api-errors.ts";
import type { Credits, Measured, PlannedRoute } from "../domain/types.ts";
import type { CannotGive, PlannedFile } from "../inputs/cannot-give.ts";
import { billedFields } from "../inputs/pinned-links.ts";
import { clipFault, fieldFault, measuredOf } from "./check-field.ts";
import type { CheckedInput } from "./check-input.ts";
import { knownCost } from "./cost.ts";
import type { RoutePrice } from "./price.ts";

/** `down`: by its circuit breaker or an account fault. `unconfigured`: no key, or disabled by the operator. */
export type RouteState = "up" | "down" | "unconfigured";

export type PlanRequest = {
  model: Model;
  checked: CheckedInput;
  measured: readonly Measured[];
  /** From `priceRoutes`, in the order of the routes. */
  prices: readonly RoutePrice[];
  maxCostCredits: Credits;
  /** `max_wait_s` in ms; null when absent: no route is skipped for time. */
  maxWaitMs: number | null;
  routeState: (routeId: string) => RouteState;
  /** The measured duration of a route, ms; undefined: the catalogue's value applies. */
  expectedMs: (routeId: string) => number | undefined;
  /** The file of the input that the provider cannot receive, if any. Absent: every provider can receive all. */
  cannotGive?: CannotGive;
};

/** A route of the model with its verdict: `planned`, or the reason why it was left out. */
export type ConsideredRoute = {
  routeId: string;
  priceCredits: Credits | null;
  expectedMs: number;
  /** The filter that left it out; null if it is planned. */
  stoppedBy: Filter | null;
  /** In plain words. */
  verdict: string;
};

/** A route that the caller's limits left out of a plan: `max_cost_usd` or `max_wait_s`. */
export type SkippedRoute = { routeId: string; outcome: "skipped_cost" | "skipped_wait" };

export type Plan = {
  /** In the order of attempts: by price, then expected time, then the catalogue's order. Never empty. */
  routes: readonly PlannedRoute[];
  /** The price of the cheapest route, in credits. */
  quotedCredits: Credits;
  /** The price of the most expensive route, in credits. */
  reservedCredits: Credits;
  skipped: readonly SkippedRoute[];
};

/** A plan or a refusal, with every route of the model in the catalogue's order. */
export type Explanation = { considered: ConsideredRoute[] } & ({ plan: Plan } | { refusal: ApiError });

/** The filters in their order. A route takes the name of the first filter that it fails. */
const FILTERS = ["unconfigured", "unable", "dear", "slow", "down"] as const;
export type Filter = (typeof FILTERS)[number];

/**
 * What a filter needs to know of a route, and the filter that stopped it. `lacks`: what a route that stopped at `unable` cannot
 * do.
 */
type Candidate = {
  route: Route;
  priceCredits: Credits | null;
  expectedMs: number;
  stoppedBy: Filter | null;
  lacks?: string;
  /** Of a planned route; undefined without a cost in the catalogue. */
  costMicroUsd?: number;
};

/**
 * Filters the routes in the order of §3 (supports this input, within `max_cost_usd`, expected within `max_wait_s`, not down)
 * and sorts the rest.
 * @throws the refusal of the filter that left no route: `invalid_input`, `max_cost_exceeded`, `invalid_input` with the shortest
 * expected time, `model_unavailable`; `model_not_available` when no route is configured.
 */
export const makePlan = (request: PlanRequest): Plan => planOf(request, candidatesOf(request));

/** Returns what `makePlan` returns, with the verdict of every route, and a refusal as a value. */
export const explainPlan = (request: PlanRequest): Explanation => {
  const candidates = candidatesOf(request);
  const considered = candidates.map((candidate): ConsideredRoute => {
    const { route, priceCredits, expectedMs, stoppedBy } = candidate;
    return { routeId: route.id, priceCredits, expectedMs, stoppedBy, verdict: verdictOf(candidate) };
  });
  try {
    return { considered, plan: planOf(request, candidates) };
  } catch (fault) {
    if (fault instanceof ApiError) return { considered, refusal: fault };
    throw fault;
  }
};

const planOf = (request: PlanRequest, candidates: readonly Candidate[]): Plan => {
  const up = candidates.filter(({ stoppedBy }) => stoppedBy === null);
  if (up.length === 0) throw refusalOf(request, candidates);
  // The sort is stable, so routes of equal price and time keep the catalogue's order.
  if (up.length > 1) up.sort((a, b) => priceOf(a) - priceOf(b) || a.expectedMs - b.expectedMs);
  for (const candidate of up) {
    const cost = knownCost(request.model, candidate.route, request.checked.filled, priceOf(candidate));
    if (cost !== undefined) candidate.costMicroUsd = cost;
  }
  const routes = sharedPlan(request.model, up);
  let [quotedCredits, reservedCredits] = [Number.POSITIVE_INFINITY, 0];
  for (const { priceCredits } of routes) {
    quotedCredits = Math.min(quotedCredits, priceCredits);
    reservedCredits = Math.max(reservedCredits, priceCredits);
  }
  return { routes, quotedCredits, reservedCredits, skipped: skippedOf(candidates) };
};

const NONE: readonly SkippedRoute[] = [];
const skippedOf = (candidates: readonly Candidate[]): readonly SkippedRoute[] => {
  const skipped = candidates.filter(({ stoppedBy }) => stoppedBy === "dear" || stoppedBy === "slow");
  if (skipped.length === 0) return NONE;
  return skipped.map(({ route, stoppedBy }) => ({
    routeId: route.id,
    outcome: stoppedBy === "dear" ? "skipped_cost" : "skipped_wait",
  }));
};

const candidatesOf = (request: PlanRequest): Candidate[] => {
  const { prices, expectedMs: learnt, maxCostCredits, maxWaitMs } = request;
  const narrowed = narrowedFields(request.model);
  const files = plannedFiles(request);
  let priced = 0;
  return request.model.routes.map((route, at): Candidate => {
    // Prices are in the order of the routes; some routes have no price.
    const priceCredits = prices[priced]?.routeId === route.id ? (prices[priced++]?.credits ?? null) : null;
    const expectedMs = learnt(route.id) ?? route.expected_s * 1_000;
    const candidate: Candidate = { route, priceCredits, expectedMs, stoppedBy: null };
    const state = request.routeState(route.id);
    const lacks =
      state === "unconfigured" ? undefined : (cannotDo(request, narrowed[at] ?? []) ?? cannotHave(request, route, files));
    if (state === "unconfigured") candidate.stoppedBy = "unconfigured";
    else if (lacks !== undefined) {
      candidate.stoppedBy = "unable";
      candidate.lacks = lacks;
    } else if (priceOf(candidate) > maxCostCredits) candidate.stoppedBy = "dear";
    else if (maxWaitMs !== null && expectedMs > maxWaitMs) candidate.stoppedBy = "slow";
    else if (state === "down") candidate.stoppedBy = "down";
    return candidate;
  });
};

/** The refusal of the last filter that any route reached: that filter left no route. */
const refusalOf = ({ model, maxWaitMs }: PlanRequest, candidates: readonly Candidate[]): ApiError => {
  const last = FILTERS.findLast((filter) => candidates.some(({ stoppedBy }) => stoppedBy === filter)) ?? "unconfigured";
  const left = candidates.filter(({ stoppedBy }) => stoppedBy === last);
  const no = (code: ApiErrorCode, message: string) => new ApiError(code, message);
  switch (last) {
    case "unconfigured":
      return no("model_not_available", `model: ${model.id} is not available; no route of it is configured.`);
    case "unable":
      return no("invalid_input", [...new Set(left.map(({ lacks }) => lacks))].join("; or "));
    case "dear":
      return no(
        "max_cost_exceeded",
        `max_cost_usd: too low; the cheapest route costs ${usd(Math.min(...left.map(priceOf)))} USD`,
      );
    case "slow": {
      const shortestMs = Math.min(...left.map(({ expectedMs }) => expectedMs));
      return no(
        "invalid_input",
        `max_wait_s: ${inSeconds(maxWaitMs ?? 0)} is too short; the quickest route is expected to take ${inSeconds(shortestMs)} s`,
      );
    }
    case "down":
      return no("model_unavailable", `model: every route of ${model.id} is down at the moment; try again shortly.`);
  }
};

const verdictOf = ({ stoppedBy, lacks, expectedMs }: Candidate): string => {
  switch (stoppedBy) {
    case null:
      return "planned";
    case "unconfigured":
      return "not configured";
    case "unable":
      return `cannot do this input: ${lacks}`;
    case "dear":
      return "over max_cost_usd";
    case "slow":
      return `too slow: expected to take ${inSeconds(expectedMs)} s`;
    case "down":
      return "down";
  }
};

/** For each route of the model, the fields that it accepts in a narrower range than the model, or not at all. */
const narrowedFields = memoize((model: Model) =>
  model.routes.map((route) =>
    fieldsOf(model).flatMap(([name, field]) =>
      route.takes[name] === undefined ? [] : [{ name, field, reached: routeField(route, name, field) }],
    ),
  ),
);
type Narrowed = ReturnType<typeof narrowedFields>[number];

/** Why a route cannot do what its model offers, with the name of the field; undefined when it can. */
const cannotDo = ({ checked, measured }: PlanRequest, narrowed: Narrowed): string | undefined => {
  for (const { name, field, reached } of narrowed) {
    const value = checked.filled[name];
    if (value === undefined) continue;
    if (!reached) {
      // A route without the field can still run an input that holds the model's default for it.
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

/** The files of the input, each once, in the order of its links. */
export const plannedFiles = ({
  model,
  checked,
  measured,
}: Pick<PlanRequest, "model" | "checked" | "measured">): PlannedFile[] => {
  if (checked.links.length === 0) return [];
  const billed = billedFields(model, checked.raw);
  const isBilled = (field: string) => billed.some((name) => field === name || field.startsWith(`${name}[`));
  const first = new Map<string, PlannedFile>();
  for (const { field, url, kind, isOwn } of checked.links) {
    const of = isOwn ? "stored" : isBilled(field) ? "pinned" : "foreign";
    const bytes = measured.find((one) => one.field === field)?.bytes;
    if (!first.has(url)) first.set(url, { field, kind, bytes, of });
  }
  return [...first.values()];
};

const REMEDIES = {
  stored: "the operator may set files.provider_links; media.unpinned applies to links of other servers only",
  pinned: 'the operator may set files.provider_links, or media.unpinned to "trust"',
  foreign: "upload the file with POST /v1/files",
} as const;

/** Why the route's provider cannot receive a file of the input. */
const cannotHave = ({ cannotGive }: PlanRequest, { provider }: Route, files: readonly PlannedFile[]): string | undefined => {
  const found = files.length === 0 ? undefined : cannotGive?.(provider, files);
  if (!found) return undefined;
  const { field, of } = found.file;
  return `${field}: its ${of === "pinned" ? "copy" : "file"} cannot be given to the model's provider: ${found.why}; ${REMEDIES[of]}`;
};

const priceOf = ({ route, priceCredits }: Candidate): Credits => {
  ok(priceCredits !== null, `${route.id} can do an input that it has no price for`);
  return priceCredits;
};

const latestPlan = memoize((_model: Model): { routes: readonly PlannedRoute[] } => ({ routes: [] }));
/**
 * Most requests of a model have the plan of the request before. They share one list, so thousands of queued generations hold one.
 */
const sharedPlan = (model: Model, candidates: readonly Candidate[]): readonly PlannedRoute[] => {
  const latest = latestPlan(model);
  const isSame = (planned: PlannedRoute | undefined, { route, priceCredits, costMicroUsd }: Candidate) =>
    planned?.routeId === route.id && planned.priceCredits === priceCredits && planned.costMicroUsd === costMicroUsd;
  if (latest.routes.length !== candidates.length || !candidates.every((one, at) => isSame(latest.routes[at], one)))
    latest.routes = candidates.map(plannedRoute);
  return latest.routes;
};

const plannedRoute = (candidate: Candidate): PlannedRoute => {
  const { route, costMicroUsd } = candidate;
  return {
    routeId: route.id,
    priceCredits: priceOf(candidate),
    ...(costMicroUsd === undefined ? {} : { costMicroUsd }),
    timeoutMs: route.timeout_s * 1_000,
    onRefusal: route.on_refusal,
    onLost: route.on_lost,
  };
};

/** Credits as USD, for display. */
const usd = (credits: Credits) => (credits / 100).toFixed(2);
const inSeconds = (ms: number) => Math.ceil(ms / 1_000);
