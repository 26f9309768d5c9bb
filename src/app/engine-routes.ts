// Routes of the engine: circuit breakers, route table and account faults, and what their changes cause.
import { type AccountFaults, createAccountFaults } from "../../actors/circuit-breaker/account-faults.ts";
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import { type CircuitBreakers, createCircuitBreakers, type RouteStateChanged } from "../../actors/circuit-breaker/registry.ts";
import type { Ledger } from "../../actors/ledger.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import type { Failure } from "../domain/types.ts";
import { createRouteTable, MAX_STORED_DELIVERIES, type Routes } from "../routing/route-table.ts";
import type { Store } from "../store/store.ts";
import { type Connection, createConnection } from "./connection.ts";
import type { EngineDeps } from "./engine-types.ts";

/** What a former process has stored about routes. */
export type SavedRoutes = {
  health: Awaited<ReturnType<Store["routeHealth"]>>;
  off: Awaited<ReturnType<Store["switchedOff"]>>;
  deliveries: Awaited<ReturnType<Store["recentDeliveries"]>>;
};
export const readDeliveries = (store: Pick<Store, "recentDeliveries">): Promise<SavedRoutes["deliveries"]> =>
  store.recentDeliveries(MAX_STORED_DELIVERIES);

export type EngineRoutes = {
  health: CircuitBreakers;
  routes: Routes;
  accountFaults: AccountFaults;
  /** Called when a circuit breaker opens or closes; connected when the supervisor exists. */
  stateChanged: Connection<RouteStateChanged>;
};

/** Sets timers, so `stateChanged` has to be connected in the same turn of the event loop. */
export const createEngineRoutes = (
  { catalogue, clock, limits, log, nodes, providers }: EngineDeps,
  saved: SavedRoutes,
): EngineRoutes => {
  const stateChanged = createConnection<RouteStateChanged>("listener to circuit breakers");
  const health = createCircuitBreakers(clock, saved.health, (routeId, state, snapshot, why) =>
    stateChanged.target()(routeId, state, snapshot, why),
  );
  const routes = createRouteTable({
    catalogue,
    health,
    deliveries: saved.deliveries,
    isConfigured: providers.configured,
    sharingKey: providers.sharingKey,
    watchMs: (providerId) => providers.traits(providerId).watchMs,
    switchedOff: new Map(saved.off.map(({ routeId, reason }) => [routeId, reason])),
    maxRunningPerRoute: limits.max_running_per_route,
    nowMs: clock.nowMs,
    ends: (route_id, reason) => log("route retiring", { route_id, reason }),
    ...(nodes ? { nodes } : {}),
  });
  const accountFaults = createAccountFaults({
    health,
    sharingKey: routes.sharingKey,
    closedOthers: (routeId, count) =>
      log("route state changed", { state: "open", count, reason: `the other routes with the key of ${routeId}` }),
  });
  return { health, routes, accountFaults, stateChanged };
};

export type RouteChangesDeps = Pick<EngineDeps, "clock" | "log"> &
  Pick<EngineRoutes, "health" | "routes" | "accountFaults"> & {
    post: Ledger["post"];
    supervisor: Pick<Supervisor, "routesChanged">;
  };

export type RouteChanges = {
  stateChanged: RouteStateChanged;
  replaceCatalogue: (next: Catalogue) => void;
  /** Recomputes the available routes and probes closed ones after the credentials of these providers changed. */
  rekeyed: (whose: readonly string[]) => void;
};

/** Logs and stores changes of routes, and reports them to the supervisor. */
export const createRouteChanges = (deps: RouteChangesDeps): RouteChanges => {
  const { clock, log, health, routes, accountFaults, post, supervisor } = deps;
  /** Routes that change together are one log line. */
  let isTogether = false;
  const notifyOperator = (routeId: string, { class: error_code, detail }: Failure) => {
    const provider = routes.specOf(routeId)?.provider ?? "PROVIDER";
    const action =
      error_code === "balance"
        ? `add credit with the provider, then genrouter routes test ${routeId}`
        : `genrouter providers set-key ${provider}, or correct the reason, then genrouter routes test ${routeId}`;
    log("route needs operator", { route_id: routeId, provider, error_code, reason: detail, action });
  };
  return {
    stateChanged: (routeId, state, snapshot, why) => {
      // Routes that change with a provider credential are one log line.
      if (!isTogether && !accountFaults.isFollowing())
        log("route state changed", { route_id: routeId, state, ...(why ? { error_code: why.class, reason: why.detail } : {}) });
      if (why && verdictOf(why.class) === "faulty" && !accountFaults.isFollowing()) notifyOperator(routeId, why);
      routes.touch();
      // Only a stopped ledger rejects it, and then the process ends.
      void post({ mutation: "save-route-health", routeId, snapshot, atMs: clock.nowMs() }).catch(() => undefined);
      supervisor.routesChanged([routeId]);
    },
    replaceCatalogue: (next) => {
      const before = routes.catalogue();
      routes.replaceCatalogue(next);
      supervisor.routesChanged(before.models.flatMap((model) => model.routes.map((route) => route.id)));
      log("catalogue loaded", { count: next.models.length });
    },
    rekeyed: (whose) => {
      const rekeyedRoutes = routes.rekeyed(whose);
      const waited = rekeyedRoutes.filter((id) => health.setUpFaults().has(id)).length;
      isTogether = waited > 1;
      for (const id of rekeyedRoutes) health.reset(id);
      isTogether = false;
      if (waited > 1)
        log("route state changed", { state: "halfOpen", count: waited, reason: `another key of ${whose.join(", ")}` });
      supervisor.routesChanged(rekeyedRoutes);
    },
  };
};
