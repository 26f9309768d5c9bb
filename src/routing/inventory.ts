// Inventory for operators: providers with their credential sources, routes with their states.

import { openInterval } from "../../actors/circuit-breaker/snapshot.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import { type Margin, marginOf } from "../../catalogue/margin.ts";
import { endingRoutes, endingText } from "../../catalogue/route-end-dates.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Settings } from "../config/schema.ts";
import { SET_UP_FAULTS } from "../domain/types.ts";
import { type KeySource, sourceInSettings } from "../providers/credentials.ts";
import type { ListedRoute, Recovery } from "../providers/port.ts";
import type { StoreReads } from "../store/store.ts";

/** Facts of a provider that are independent of the catalogue: see `providerFacts` of src/providers. */
export type ProviderFacts = { id: string; account: string; name: string; recovery: Recovery; isChecked: boolean } & {
  /** What every credential of the provider matches; null if unknown. */
  keyForm: { pattern: string; example: string } | null;
};
/** `storedAtMs`: when the credential of the account in the vault was set, in use or not; null if there is none. */
export type ProviderRow = ProviderFacts & { key: KeySource | null; storedAtMs: number | null; routes: number; up: number };
export type RouteRow = {
  id: string;
  model: string;
  provider: string;
  endpoint: string;
  state: "up" | "down" | "off" | "ended" | "no key";
  /** Why it is disabled or down, in the operator's or provider's words, or when it retires. */
  reason: string | null;
  /** When a route that is down is probed, in milliseconds. */
  untilMs: number | null;
  /** Margin over the provider's cost; null if the cost is unknown. */
  margin: Margin | null;
};
export type Inventory = {
  providers(): Promise<ProviderRow[]>;
  routes(): Promise<RouteRow[]>;
  /** Ids of enabled routes of a provider account that are down for a credential or balance error. */
  faultyOf(provider: string): Promise<string[]>;
  /** Request data of the catalogue's routes of a provider. */
  routesOf(provider: string): Promise<ListedRoute[]>;
  modelOf(routeId: string): Model | undefined;
  /** Every model of the catalogue, available or not. */
  models(): readonly Model[];
  /** `costs`: minimum cost of the provider, e.g. `0.04 USD per second`. */
  offerOf(routeId: string): Promise<ListedRoute & { costs: string }>;
};

export type InventoryDeps = {
  /** Without the credentials of the vault. */
  settings: () => Settings;
  /** Providers are simulated: every one has a credential. */
  simulated: boolean;
  facts: readonly ProviderFacts[];
  catalogue: () => Catalogue;
  reads: Pick<StoreReads, "providerKeys" | "switchedOff" | "routeHealth">;
  /** Clock for the last day of a route; default: the machine's. */
  nowMs?: () => number;
};

/** Used without a data directory. */
export const NO_STORED_CREDENTIALS: InventoryDeps["reads"] = {
  providerKeys: async () => [],
  switchedOff: async () => [],
  routeHealth: async () => new Map(),
};

/** Reads a stored circuit breaker; null while its route is used. */
const downIn = (snapshot: string | undefined): { untilMs: number; why: string | null; isFault: boolean } | null => {
  if (snapshot === undefined) return null;
  const open = openInterval(snapshot);
  if (open === null) return null;
  const { untilMs, why } = open;
  const isFault = why !== null && SET_UP_FAULTS.includes(why.class);
  return { untilMs, why: why && `${why.class}: ${why.detail}`, isFault };
};

export const createInventory = ({ settings, simulated, facts, catalogue, reads, nowMs = Date.now }: InventoryDeps): Inventory => {
  const sources = async (): Promise<Map<string, KeySource>> => {
    const kept = new Map(
      (await reads.providerKeys()).map(({ account, id, setAtMs }) => [account, { from: "vault", id, setAtMs } as const]),
    );
    return new Map(
      [...new Set(facts.map(({ account }) => account))].flatMap((account): [string, KeySource][] => {
        const source = simulated ? ({ from: "settings" } as const) : (sourceInSettings(settings(), account) ?? kept.get(account));
        return source === undefined ? [] : [[account, source]];
      }),
    );
  };
  /** An interface of an account can have a credential in the settings, which takes precedence over the account's. */
  const sourceAt = (keys: Map<string, KeySource>, id: string, account: string): KeySource | null =>
    (simulated ? undefined : sourceInSettings(settings(), id)) ?? keys.get(account) ?? null;
  const faultyOf = async (provider: string): Promise<string[]> => {
    const accounts = new Map(facts.map(({ id, account }) => [id, account]));
    const accountOf = (id: string) => accounts.get(id) ?? id;
    const [off, health] = [await reads.switchedOff(), await reads.routeHealth()];
    const isOff = new Set(off.map(({ routeId }) => routeId));
    return catalogue()
      .models.flatMap((model) => model.routes)
      .filter((route) => accountOf(route.provider) === accountOf(provider))
      .map(({ id }) => id)
      .filter((id) => !isOff.has(id) && downIn(health.get(id))?.isFault === true);
  };
  const routes = async (): Promise<RouteRow[]> => {
    const [keys, off, health] = [await sources(), await reads.switchedOff(), await reads.routeHealth()];
    const reasons = new Map(off.map(({ routeId, reason }) => [routeId, reason]));
    const accounts = new Map(facts.map(({ id, account }) => [id, account]));
    const hasKeyAt = (provider: string) => sourceAt(keys, provider, accounts.get(provider) ?? provider) !== null;
    const { models } = catalogue();
    const endings = new Map(endingRoutes(models, nowMs()).map((ending) => [ending.routeId, ending]));
    return models.flatMap((model) =>
      model.routes.map((route): RouteRow => {
        const { id, provider, endpoint } = route;
        const reason = reasons.get(id) ?? null;
        const down = downIn(health.get(id));
        const ending = endings.get(id);
        const stateOf = () => {
          if (ending?.hasEnded) return "ended";
          if (reason !== null) return "off";
          if (!hasKeyAt(provider)) return "no key";
          return down === null ? "up" : "down";
        };
        return {
          id,
          model: model.id,
          provider,
          endpoint,
          state: stateOf(),
          reason: ending?.hasEnded ? endingText(ending) : (reason ?? down?.why ?? (ending ? endingText(ending) : null)),
          untilMs: down?.untilMs ?? null,
          margin: marginOf(route),
        };
      }),
    );
  };
  return {
    routes,
    faultyOf,
    routesOf: async (provider) =>
      catalogue().models.flatMap(({ routes: all }) =>
        all.filter((route) => route.provider === provider).map(({ endpoint, options }) => ({ endpoint, options })),
      ),
    models: () => catalogue().models,
    modelOf: (routeId) => catalogue().route(routeId)?.model,
    offerOf: async (routeId) => {
      const known = catalogue().route(routeId);
      if (!known) throw new Error(`there is no route ${routeId}`);
      const { endpoint, options, cost, rates } = known.route;
      const least = Math.min(...(cost.length > 0 ? cost : rates).map(({ usd }) => Number(usd)));
      return { endpoint, options, costs: `${least} USD per ${known.model.price.unit.replace("1k_", "1,000 ")}` };
    },
    providers: async () => {
      const [keys, all] = [await sources(), await routes()];
      const stored = new Map((await reads.providerKeys()).map(({ account, setAtMs }) => [account, setAtMs]));
      return facts.map((one) => {
        const own = all.filter(({ provider }) => provider === one.id);
        const up = own.filter(({ state }) => state === "up").length;
        const storedAtMs = stored.get(one.account) ?? null;
        return { ...one, key: sourceAt(keys, one.id, one.account), storedAtMs, routes: own.length, up };
      });
    },
  };
};
