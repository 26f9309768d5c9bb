// Which routes may be used at this moment: known to the catalogue, configured, not down; and how long they usually take.
import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Gate } from "../../actors/supervisor/types.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import { type ModelEntry, modelEntry } from "../../catalogue/public-model.ts";
import { endingRoutes, endingText, endsAtMs } from "../../catalogue/route-end-dates.ts";
import { memoize } from "../collections/memoize.ts";
import type { JsonObject, RouteSpec } from "../domain/types.ts";
import type { RouteState } from "../quote/plan.ts";

/** Deliveries that an expected time is taken from, and how many must be known before the catalogue's figure is replaced. */
export const MAX_STORED_DELIVERIES = 50;
const DELIVERIES_NEEDED = 20;
/** `confirm_s` of a route that has none. */
const CONFIRM_S = 120;

export type Routes = {
  catalogue(): Catalogue;
  /** Takes another catalogue from now on; attempts under way keep what they have. */
  replaceCatalogue(next: Catalogue): void;
  state(routeId: string): RouteState;
  gate(routeId: string): Gate;
  /** How a route of the catalogue is asked for, whether it may be used or not. */
  specOf(routeId: string): RouteSpec | undefined;
  seatsOf(routeId: string): number;
  /** The 90th percentile of the last deliveries, ms; undefined while too few are known. */
  expectedMs(routeId: string): number | undefined;
  delivered(routeId: string, tookMs: number): void;
  /**
   * How long a request whose answer was lost is confirmed while nobody tells anything of it, ms. One of a route that is gone
   * is asked about for as long as by default, and waited for without bound (undefined) where its provider only tells.
   * @param isToldOnly whether its provider cannot be asked and only tells: that comes with the job's end
   */
  confirmMs(routeId: string, isToldOnly: boolean): number | undefined;
  /** The model list of this moment. `version` changes whenever it may have. */
  models(): { entries: ModelEntry[]; version: number };
  /** The operator switches a route off for a reason, or on again (null). */
  switch(routeId: string, reason: string | null): void;
  /** As they are switched off now, and why. @returns the routes of which something else was known. */
  switchAll(reasons: ReadonlyMap<string, string>): string[];
  /** Why a route is switched off; undefined: it is on. */
  offBecause(routeId: string): string | undefined;
  /** These providers have another credential, or none: the model list is made anew. Gives the ids of their routes. */
  rekeyed(providerIds: readonly string[]): string[];
  /** The ids of the routes that go with the same key to the same provider as this one, itself among them. */
  sharingKey(routeId: string): string[];
  /** Health or configuration changed: the model list is made anew. */
  touch(): void;
};

export type RouteTableDeps = {
  catalogue: Catalogue;
  health: Pick<CircuitBreakers, "isDown">;
  isConfigured: (providerId: string) => boolean;
  /** The providers that go with the same key as this one. */
  sharingKey: (providerId: string) => string[];
  /** Routes that the operator has switched off, and why. */
  switchedOff: ReadonlyMap<string, string>;
  watchMs: (providerId: string) => number;
  seatsPerRoute: number;
  /** How many nodes share the seats of a route; absent: one. */
  nodes?: () => number;
  deliveries: ReadonlyMap<string, readonly number[]>;
  /** By which the last day of a route is over. */
  nowMs: () => number;
  /** Told of each route whose last day is near or over, and of those of each other catalogue. */
  ends?: (routeId: string, why: string) => void;
};

/** The routes of a catalogue that have a last day, with when that is over. */
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

export const createRouteTable = (deps: RouteTableDeps): Routes => {
  let { catalogue } = deps;
  let version = 0;
  let endedBefore = 0;
  let listed: { version: number; entries: ModelEntry[] } | null = null;
  const deliveries = new Map([...deps.deliveries].map(([routeId, times]) => [routeId, [...times]]));
  /** Worked out when a delivery comes in, not when a submission asks. */
  const expected = new Map<string, number>();
  const expect = (routeId: string) => {
    const sorted = [...(deliveries.get(routeId) ?? [])].sort((a, b) => a - b);
    const percentile = sorted[Math.ceil(sorted.length * 0.9) - 1];
    if (percentile !== undefined && sorted.length >= DELIVERIES_NEEDED) expected.set(routeId, percentile);
  };
  for (const routeId of deliveries.keys()) expect(routeId);

  const off = new Map(deps.switchedOff);
  const tellEndings = () => {
    for (const ending of endingRoutes(catalogue.models, deps.nowMs())) deps.ends?.(ending.routeId, endingText(ending));
  };
  tellEndings();

  const hasEnded = (routeId: string): boolean => {
    const endMs = endsOf(catalogue).get(routeId);
    return endMs !== undefined && deps.nowMs() >= endMs;
  };
  /** How many of them are over: with each that ends the model list is another one. */
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

  /** One for each route of a catalogue: every generation in line asks, and what runs keeps it. */
  const openGate = memoize(({ route, model }: NonNullable<ReturnType<Catalogue["route"]>>): Gate => {
    const options = route.options as unknown as JsonObject;
    // What the route makes is frozen too: the model may be gone when its result arrives.
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
      tellEndings();
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
    // Shared out evenly: a provider's limit is that of its account, however many nodes there are.
    seatsOf: (routeId) =>
      Math.max(1, Math.floor((catalogue.route(routeId)?.route.seats ?? deps.seatsPerRoute) / (deps.nodes?.() ?? 1))),
    expectedMs: (routeId) => expected.get(routeId),
    confirmMs: (routeId, isToldOnly) => {
      const route = catalogue.route(routeId)?.route;
      if (!route) return isToldOnly ? undefined : CONFIRM_S * 1000;
      const boundMs = (route.confirm_s ?? CONFIRM_S) * 1000;
      const usualMs = expected.get(routeId) ?? route.expected_s * 1000;
      return Math.min(isToldOnly ? Math.max(boundMs, 2 * usualMs) : boundMs, route.timeout_s * 1000);
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
