// Route table: available routes, their expected times and the model list.
import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Gate } from "../../actors/supervisor/types.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import { type ModelEntry, modelEntry } from "../../catalogue/public-model.ts";
import { endingRoutes, endingText, endsAtMs } from "../../catalogue/route-end-dates.ts";
import { memoize } from "../collections/memoize.ts";
import type { JsonObject, RouteSpec } from "../domain/types.ts";
import type { RouteState } from "../quote/plan.ts";

/** Deliveries that an expected time is computed from, and the minimum number that replaces the catalogue's value. */
export const MAX_STORED_DELIVERIES = 50;
const DELIVERIES_NEEDED = 20;
/** The minimum number of ends that polls follow. Too early or too late a poll costs little. */
const ENDS_NEEDED = 5;
/** Default of `confirm_s`. */
const CONFIRM_S = 120;

export type Routes = {
  catalogue(): Catalogue;
  /** Replaces the catalogue; running attempts keep their route data. */
  replaceCatalogue(next: Catalogue): void;
  state(routeId: string): RouteState;
  gate(routeId: string): Gate;
  /** Request data of a route, available or not. */
  specOf(routeId: string): RouteSpec | undefined;
  maxRunningOf(routeId: string): number;
  /** 90th percentile of recent deliveries in milliseconds; undefined with too few. */
  expectedMs(routeId: string): number | undefined;
  delivered(routeId: string, tookMs: number): void;
  /** Records the age, ms, at which a poll showed that a job has a result. */
  noticed(routeId: string, ageMs: number): void;
  /** Between which ages most jobs of a route had a result lately, ms; undefined with too few. */
  usualEnd(routeId: string): { fromMs: number; toMs: number } | undefined;
  /**
   * Maximum time in milliseconds to confirm a request whose response was lost while the provider gives no information. A route
   * that was removed has the default, or no bound (undefined) if its provider only sends callbacks.
   * @param isCallbackOnly whether its provider cannot be queried and only reports the end of a job
   */
  confirmMs(routeId: string, isCallbackOnly: boolean): number | undefined;
  /** The current model list. `version` changes whenever the list may have changed. */
  models(): { entries: ModelEntry[]; version: number };
  /** Disables a route for a reason, or enables it (null). */
  switch(routeId: string, reason: string | null): void;
  /** Applies the current switches. @returns the routes whose switch changed. */
  switchAll(reasons: ReadonlyMap<string, string>): string[];
  /** Why a route is disabled; undefined if it is enabled. */
  offBecause(routeId: string): string | undefined;
  /** Recomputes the model list after credentials changed. Returns the ids of their routes. */
  rekeyed(providerIds: readonly string[]): string[];
  /** Ids of the routes that use the same credential at the same provider, including this one. */
  sharingKey(routeId: string): string[];
  /** Recomputes the model list after health or configuration changed. */
  touch(): void;
};

export type RouteTableDeps = {
  catalogue: Catalogue;
  health: Pick<CircuitBreakers, "isDown">;
  isConfigured: (providerId: string) => boolean;
  /** Providers that use the same credential. */
  sharingKey: (providerId: string) => string[];
  /** Disabled routes with their reasons. */
  switchedOff: ReadonlyMap<string, string>;
  watchMs: (providerId: string) => number;
  maxRunningPerRoute: number;
  /** Number of nodes that share the running generations of a route; absent: one. */
  nodes?: () => number;
  deliveries: ReadonlyMap<string, readonly number[]>;
  /** Clock for the last day of a route. */
  nowMs: () => number;
  /** Called for each route whose last day is near or over, also after a reload. */
  ends?: (routeId: string, why: string) => void;
};

/** Routes of a catalogue that have a last day, with its end. */
const endsOf = memoize(
  (catalogue: Catalogue): ReadonlyMap<string, number> =>
    new Map(
      catalogue.models.flatMap(({ routes }) =>
        routes.flatMap((route) => {
          const endMs = endsAtMs(route);
          return endMs === undefined ? [] : [[route.id, endMs] as const];
        }),
      ),
    ),
);

const percentile = (sorted: readonly number[], share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;

export const createRouteTable = (deps: RouteTableDeps): Routes => {
  let { catalogue } = deps;
  let version = 0;
  let endedBefore = 0;
  let listed: { version: number; entries: ModelEntry[] } | null = null;
  const deliveries = new Map([...deps.deliveries].map(([routeId, times]) => [routeId, [...times]]));
  /** Computed when a delivery arrives, not when a submission or a poll reads them. */
  const expected = new Map<string, number>();
  const usualEnds = new Map<string, { fromMs: number; toMs: number }>();
  const expect = (routeId: string) => {
    const sorted = [...(deliveries.get(routeId) ?? [])].sort((a, b) => a - b);
    if (sorted.length >= DELIVERIES_NEEDED) expected.set(routeId, percentile(sorted, 0.9));
  };
  const learnEnd = (routeId: string, ages: readonly number[]) => {
    if (ages.length < ENDS_NEEDED) return;
    const sorted = ages.toSorted((a, b) => a - b);
    usualEnds.set(routeId, { fromMs: percentile(sorted, 0.05), toMs: percentile(sorted, 0.95) });
  };
  /** Ages at which polls showed results. Until a process has seen enough, the deliveries of earlier ones take their place. */
  const ends = new Map<string, number[]>();
  for (const [routeId, times] of deliveries) {
    expect(routeId);
    learnEnd(routeId, times);
  }

  const off = new Map(deps.switchedOff);
  const notifyEndings = () => {
    for (const ending of endingRoutes(catalogue.models, deps.nowMs())) deps.ends?.(ending.routeId, endingText(ending));
  };
  notifyEndings();

  const hasEnded = (routeId: string): boolean => {
    const endMs = endsOf(catalogue).get(routeId);
    return endMs !== undefined && deps.nowMs() >= endMs;
  };
  /** Number of retired routes; each changes the model list. */
  const endedNow = (): number => {
    const nowMs = deps.nowMs();
    let ended = 0;
    for (const endMs of endsOf(catalogue).values()) if (nowMs >= endMs) ended += 1;
    return ended;
  };

  const state = (routeId: string): RouteState => {
    const known = catalogue.route(routeId);
    if (!known || off.has(routeId) || hasEnded(routeId) || !deps.isConfigured(known.route.provider)) return "unconfigured";
    return deps.health.isDown(routeId) ? "down" : "up";
  };

  /** One for each route of a catalogue, because every waiting generation reads it and running ones keep it. */
  const openGate = memoize(({ route, model }: NonNullable<ReturnType<Catalogue["route"]>>): Gate => {
    const options = route.options as unknown as JsonObject;
    // The result kind is frozen as well, because the model may be removed before its result arrives.
    const spec = { routeId: route.id, provider: route.provider, endpoint: route.endpoint, options, kind: model.kind };
    return { kind: "open", spec, watchMs: deps.watchMs(route.provider) };
  });

  const ofProviders = (providerIds: readonly string[]): string[] => {
    const all = catalogue.models.flatMap(({ routes }) => routes);
    return all.filter(({ provider }) => providerIds.includes(provider)).map(({ id }) => id);
  };

  return {
    catalogue: () => catalogue,
    replaceCatalogue: (next) => {
      catalogue = next;
      notifyEndings();
      version += 1;
    },
    state,
    gate: (routeId) => {
      const known = catalogue.route(routeId);
      if (!known) return { kind: "closed", reason: "removed" };
      const { route } = known;
      if (hasEnded(routeId)) return { kind: "closed", reason: "ended" };
      if (off.has(routeId)) return { kind: "closed", reason: "switched off" };
      if (!deps.isConfigured(route.provider)) return { kind: "closed", reason: "no key" };
      if (deps.health.isDown(routeId)) return { kind: "closed", reason: "down" };
      return openGate(known);
    },
    specOf: (routeId) => {
      const known = catalogue.route(routeId);
      const gate = known && openGate(known);
      return gate?.kind === "open" ? gate.spec : undefined;
    },
    // Divided evenly, because a provider's limit applies to its account, however many nodes there are.
    maxRunningOf: (routeId) =>
      Math.max(1, Math.floor((catalogue.route(routeId)?.route.max_running ?? deps.maxRunningPerRoute) / (deps.nodes?.() ?? 1))),
    expectedMs: (routeId) => expected.get(routeId),
    noticed: (routeId, ageMs) => {
      const ages = ends.get(routeId) ?? [];
      ages.push(ageMs);
      if (ages.length > MAX_STORED_DELIVERIES) ages.shift();
      ends.set(routeId, ages);
      learnEnd(routeId, ages);
    },
    usualEnd: (routeId) => usualEnds.get(routeId),
    confirmMs: (routeId, isCallbackOnly) => {
      const route = catalogue.route(routeId)?.route;
      if (!route) return isCallbackOnly ? undefined : CONFIRM_S * 1000;
      const boundMs = (route.confirm_s ?? CONFIRM_S) * 1000;
      const usualMs = expected.get(routeId) ?? route.expected_s * 1000;
      return Math.min(isCallbackOnly ? Math.max(boundMs, 2 * usualMs) : boundMs, route.timeout_s * 1000);
    },
    delivered: (routeId, tookMs) => {
      const times = deliveries.get(routeId) ?? [];
      times.push(tookMs);
      if (times.length > MAX_STORED_DELIVERIES) times.shift();
      deliveries.set(routeId, times);
      expect(routeId);
    },
    models: () => {
      const ended = endedNow();
      if (ended !== endedBefore) version += 1;
      endedBefore = ended;
      if (listed?.version !== version) {
        const isConfigured = (routeId: string) => state(routeId) !== "unconfigured";
        const isUp = (routeId: string) => state(routeId) === "up";
        const entries = catalogue.models
          .filter((model) => model.routes.some((route) => isUp(route.id)))
          .map((model) => modelEntry(model, isConfigured));
        listed = { version, entries };
      }
      return listed;
    },
    switch: (routeId, reason) => {
      if (reason === null) off.delete(routeId);
      else off.set(routeId, reason);
      version += 1;
    },
    switchAll: (reasons) => {
      const changed = [...new Set([...off.keys(), ...reasons.keys()])].filter((id) => off.get(id) !== reasons.get(id));
      off.clear();
      for (const [routeId, reason] of reasons) off.set(routeId, reason);
      version += 1;
      return changed;
    },
    offBecause: (routeId) => off.get(routeId),
    sharingKey: (routeId) => {
      const provider = catalogue.route(routeId)?.route.provider;
      return provider === undefined ? [] : ofProviders(deps.sharingKey(provider));
    },
    rekeyed: (providerIds) => {
      version += 1;
      return ofProviders(providerIds);
    },
    touch: () => {
      version += 1;
    },
  };
};
