// Admin operations on providers and routes: credentials, switches and lists.
import type { Model } from "../../catalogue/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult } from "../domain/mutations.ts";
import type { CheckOutcome, ListedJob, ListedRoute, Providers } from "../providers/port.ts";
import { usableKey } from "../providers/provider-client.ts";
import { type Vault, VaultFault } from "../providers/vault.ts";
import type { Inventory, ProviderRow, RouteRow } from "../routing/inventory.ts";
import type { NodeReads } from "../store/cluster-port.ts";
import type { ProviderKeyRow } from "../store/store.ts";
import { AdminError } from "./admin-error.ts";

/**
 * `costs`: price of the smallest request, in words. `reopened`: number of routes of the account that were disabled by its key or
 * its balance and are tried again.
 */
export type CheckedRoute = { id: string; provider: string; check: CheckOutcome; costs: string; reopened: number };
/** `reachesMs`: period that the provider's lists cover. */
export type JobList = { jobs: ListedJob[]; reachesMs: number };
/** `isShadowed`: the configuration has a credential too, which has precedence. */
export type StoredCredential = { account: string; id: string; isShadowed: boolean };

export type ProviderAdmin = {
  listProviders(ask: Record<string, never>): Promise<ProviderRow[]>;
  /** The catalogue in use. */
  listModels(ask: Record<string, never>): Promise<readonly Model[]>;
  listRoutes(request: { model: string | null; provider: string | null }): Promise<RouteRow[]>;
  /** The credential is sealed before it is written and never returned. It replaces a stored one. */
  setProviderKey(query: { account: string; key: string }): Promise<StoredCredential>;
  dropProviderKey(request: { account: string }): Promise<{ account: string }>;
  /**
   * Seals every stored credential under a new master key and deletes the previous master keys. Rejected while other nodes are
   * alive.
   */
  rotateMasterKey(ask: Record<string, never>): Promise<{ accounts: string[] }>;
  /** Jobs in the provider's own lists since a time, for its routes in the catalogue and the given ones. */
  listJobs(request: { provider: string; routes: ListedRoute[]; sinceMs: number }): Promise<JobList>;
  /** Checks without a purchase whether the route's provider accepts the credential, and returns the cost of a trial. */
  checkRoute(query: { id: string }): Promise<CheckedRoute>;
  /** Disables a route with a reason, or enables it again (null). */
  switchRoute(request: { id: string; reason: string | null }): Promise<RouteRow>;
};

export type ProviderAdminDeps = {
  inventory: Inventory;
  vault: Vault;
  kept: () => Promise<ProviderKeyRow[]>;
  /** The nodes that share the store; null if a single process writes. */
  nodes: Pick<NodeReads, "list" | "names"> | null;
  /** Providers with the current credentials. @throws BadSetting if one cannot be read */
  providers: () => Promise<Pick<Providers, "configured" | "list" | "traits" | "check">>;
  /** Called when a stored credential was set or removed (undefined), so that the change takes effect at once. */
  rekeyed: (account: string, key: string | undefined) => void;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  clock: Clock;
};

const done = (outcome: AdminResult): void => {
  if (outcome.kind === "refused") throw new AdminError("refused", outcome.reason, { code: "refused" });
};

const LISTING_MS = 600_000;
const CHECK_MS = 20_000;

const noKey = (account: string) =>
  new AdminError("refused", `there is no stored key of ${account}`, {
    fix: `genrouter providers set-key ${account}`,
    code: "no_key",
  });

export const createProviderAdmin = (deps: ProviderAdminDeps): ProviderAdmin => {
  const { inventory, vault, rekeyed, post, clock } = deps;
  const accountOf = async (account: string): Promise<ProviderRow> => {
    const rows = await inventory.providers();
    // The id of any interface of an account selects the account.
    const known = rows.find((row) => row.account === account) ?? rows.find(({ id }) => id === account);
    if (known) return known;
    throw new AdminError("notFound", `there is no provider account ${account}`, {
      fix: `there are ${[...new Set(rows.map((row) => row.account))].join(", ")}`,
      code: "not_found",
    });
  };
  const routeOf = async (id: string): Promise<RouteRow> => {
    const known = (await inventory.routes()).find((row) => row.id === id);
    if (known) return known;
    throw new AdminError("notFound", `there is no route ${id}`, {
      fix: "genrouter routes list prints the valid ids",
      code: "not_found",
    });
  };
  const unsealing = <T>(work: () => T): T => {
    try {
      return work();
    } catch (fault) {
      if (fault instanceof VaultFault) throw new AdminError("unwritable", fault.message, { code: "key_unreadable" });
      throw fault;
    }
  };
  /** Other nodes cannot open credentials that are sealed under the new key until they have a copy of this node's key file. */
  const requireSingleNode = async (): Promise<void> => {
    const { nodes } = deps;
    if (nodes === null) return;
    const alive = (await nodes.list(0, { visits: true })).filter(({ endedAtMs }) => endedAtMs === null);
    if (alive.length <= 1) return;
    const names = await nodes.names(alive.map(({ epoch }) => epoch));
    throw new AdminError("tryAgain", `more than one node is live: ${[...names.values()].join(", ")}`, {
      fix: "stop the other nodes, rotate, copy provider-keys.master to every node, start them",
      code: "nodes_alive",
    });
  };
  return {
    listProviders: () => inventory.providers(),
    listModels: () => Promise.resolve(inventory.models()),
    listRoutes: async ({ model, provider }) =>
      (await inventory.routes()).filter(
        (row) => (model === null || row.model === model) && (provider === null || row.provider === provider),
      ),
    setProviderKey: async ({ account: named, key: text }) => {
      const { account, key: source, keyForm } = await accountOf(named);
      let key: string | undefined;
      try {
        key = usableKey(account, text);
      } catch {
        key = undefined;
      }
      if (key === undefined)
        throw new AdminError("usage", "the key is invalid; expected printable ASCII without spaces", {
          code: "bad_key",
        });
      if (keyForm && !new RegExp(keyForm.pattern).test(key))
        throw new AdminError("usage", `the key is invalid; a key of ${account} looks like ${keyForm.example}`, {
          code: "bad_key",
        });
      const usable = key;
      const beside = await deps.kept();
      const { id, sealed } = unsealing(() => vault.seal(account, usable, beside));
      done(await post({ mutation: "set-provider-key", account, id, sealed, atMs: clock.nowMs() }));
      const isShadowed = source !== null && source.from !== "vault";
      if (!isShadowed) rekeyed(account, key);
      return { account, id, isShadowed };
    },
    dropProviderKey: async ({ account: named }) => {
      const { account, key: source } = await accountOf(named);
      done(await post({ mutation: "drop-provider-key", account }));
      if (source?.from === "vault") rekeyed(account, undefined);
      return { account };
    },
    rotateMasterKey: async () => {
      await requireSingleNode();
      const opened = (await deps.kept()).map((row) => ({
        account: row.account,
        key: unsealing(() => vault.open(row.account, row)),
      }));
      vault.renew();
      for (const { account, key } of opened)
        done(await post({ mutation: "set-provider-key", account, ...vault.seal(account, key, []), atMs: clock.nowMs() }));
      vault.forgetOld();
      return { accounts: opened.map(({ account }) => account) };
    },
    listJobs: async ({ provider, routes, sinceMs }) => {
      const known = (await inventory.providers()).find(({ id }) => id === provider);
      if (!known)
        throw new AdminError("notFound", `there is no provider ${provider}`, {
          fix: "genrouter providers list prints the valid ids",
          code: "not_found",
        });
      const providers = await deps.providers();
      if (!providers.configured(provider)) throw noKey(known.account);
      const requested = [...(await inventory.routesOf(provider)), ...routes];
      const outcome = await providers.list(provider, requested, sinceMs, AbortSignal.timeout(LISTING_MS));
      if (outcome.kind === "none")
        throw new AdminError("refused", `${known.name} has no job list in its API; genrouter orphans lists the open attempts`, {
          code: "no_list",
        });
      if (outcome.kind === "unclear")
        throw new AdminError("tryAgain", `the list of ${known.name} could not be read completely: ${outcome.detail}`, {
          code: "list_unread",
        });
      return { jobs: outcome.jobs, reachesMs: providers.traits(provider).findWindowMs };
    },
    checkRoute: async ({ id }) => {
      const { provider, state } = await routeOf(id);
      if (state === "no key") throw noKey((await accountOf(provider)).account);
      const { endpoint, options, costs } = await inventory.offerOf(id);
      const check = await (await deps.providers()).check(provider, { endpoint, options }, AbortSignal.timeout(CHECK_MS));
      const faulty = check.kind === "works" ? await inventory.faultyOf(provider) : [];
      const atMs = clock.nowMs();
      await Promise.all(
        faulty.map(async (routeId) => done(await post({ mutation: "switch-route", routeId, reason: null, atMs }))),
      );
      return { id, provider, check, costs, reopened: faulty.length };
    },
    switchRoute: async ({ id, reason }) => {
      await routeOf(id);
      done(await post({ mutation: "switch-route", routeId: id, reason, atMs: clock.nowMs() }));
      return routeOf(id);
    },
  };
};
