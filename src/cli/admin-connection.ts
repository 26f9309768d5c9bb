// Connects a command to the admin service, over the control socket or in process.
//
// If no service runs, the command owns the data directory for the duration of its work.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type AdminService, createAdminService } from "../admin/admin-service.ts";
import { forwardDecision } from "../cluster/takeover.ts";
import type { Settings } from "../config/schema.ts";
import { systemClock } from "../domain/clock.ts";
import type { AdminMutation } from "../domain/mutations.ts";
import { DirectoryInUse } from "../store/sqlite/errors.ts";
import type { Store } from "../store/store.ts";
import { chownTree } from "./chown-files.ts";
import { adminOverSocket, requestFor } from "./control-client.ts";
import { commandActor } from "./principal.ts";

/** A starting service owns the directory before its control socket exists. A command waits up to this long for the socket. */
const STARTING_MS = 5000;
const RETRY_MS = 100;

/** Providers and routes as a service that starts now would have them. */
const inventoryOf = async (settings: Settings, store: Store) => {
  const [{ createInventory }, { catalogueOf, dialectsOf }, { createProviders, providerFacts }, { createVault }, { withKeys }] =
    await Promise.all([
      import("../routing/inventory.ts"),
      import("../routing/load-catalogue.ts"),
      import("../providers/providers.ts"),
      import("../providers/vault.ts"),
      import("../providers/credentials.ts"),
    ]);
  const simulated = (await store.mode()) === "test";
  const inventory = createInventory({
    ...{ settings: () => settings, simulated, facts: providerFacts(dialectsOf(settings)) },
    ...{ catalogue: () => catalogueOf(settings, simulated), reads: store },
  });
  const vault = createVault(settings.data.dir, settings.store.url !== "");
  const providers = async () => {
    const kept = simulated ? [] : await store.providerKeys();
    const { providers: withKey } = withKeys(settings, kept, vault);
    const isOwned = async (provider: string, jobId: string) => (await store.jobOwner(provider, jobId)) !== undefined;
    return createProviders({ settings: withKey, dialects: dialectsOf(settings), isOwned });
  };
  return { inventory, vault, providers, rekeyed: () => undefined };
};

/**
 * Handling of a directory without a database: null rejects it, otherwise a new one is created for live use or for the simulator.
 */
export type InitialSettings = { create: "live" | "test"; note: (line: string) => void } | null;

/** Creates the admin service for a store that this process opened. */
const adminOver = async (settings: Settings, store: Store): Promise<AdminService> => {
  const clock = systemClock(await store.lastSeenMs());
  const by = commandActor();
  return createAdminService({
    reads: store,
    post: async (mutation: AdminMutation) => {
      const [outcome] = await store.commit([{ ...mutation, atMs: mutation.atMs ?? clock.nowMs(), by }]);
      if (outcome?.kind !== "done" && outcome?.kind !== "refused")
        throw new Error(`a ${mutation.mutation} mutation has no outcome`);
      return outcome;
    },
    mode: await store.mode(),
    clock,
    submit: null,
    decide: store.node && forwardDecision(store.node),
    ...(await inventoryOf(settings, store)),
  });
};

/**
 * Opens a shared database, to which this process temporarily connects as one more node. @throws DatabaseUnavailable, WrongSchema
 */
const openShared = async ({ store: { url, prepared: prepare }, credits }: Settings, birth: InitialSettings): Promise<Store> => {
  // The database is created only if `birth` allows it.
  if (birth === null)
    await (await import("../store/postgres/read-only-client.ts"))
      .openPostgresReads({ url, prepare })
      .then((reads) => reads.close());
  const { openPostgresStore } = await import("../store/postgres/client.ts");
  return await openPostgresStore({
    ...{ url, prepare, readers: 2, isVisit: true },
    lowBalanceCredits: credits.low_balance_alert_usd * 100,
  });
};

/**
 * Runs work with the admin service of a data directory, or of the configured database.
 * @throws DirectoryInUse if another process owns the directory and does not answer, DirectoryUnusable, and errors of `work`.
 */
export const withAdminService = async <T>(
  settings: Settings,
  work: (admin: AdminService) => Promise<T>,
  birth: InitialSettings = null,
): Promise<T> => {
  const { dir, network_disk: allowNetworkDisk } = settings.data;
  if (settings.store.url !== "") {
    if (existsSync(dir) && (await requestFor(dir))) return work(adminOverSocket(dir));
    const store = await openShared(settings, birth);
    try {
      return await work(await adminOver(settings, store));
    } finally {
      await store.close();
    }
  }
  const { openSqliteStore } = await import("../store/sqlite/client.ts");
  const { DATABASE_FILE } = await import("../store/sqlite/open.ts");
  const endMs = performance.now() + STARTING_MS;
  for (;;) {
    if (existsSync(dir) && (await requestFor(dir))) return work(adminOverSocket(dir));
    const isNew = !existsSync(join(dir, DATABASE_FILE));
    try {
      // An existing directory keeps the mode with which it was created.
      const store = await openSqliteStore({
        dir,
        allowNetworkDisk,
        lowBalanceCredits: settings.credits.low_balance_alert_usd * 100,
        ...(isNew && birth ? { mode: birth.create } : { requireExisting: true }),
      });
      try {
        if (isNew) birth?.note(`new data directory ${resolve(dir)}`);
        return await work(await adminOver(settings, store));
      } finally {
        await store.close();
        chownTree(dir);
      }
    } catch (fault) {
      if (!(fault instanceof DirectoryInUse) || performance.now() > endMs) throw fault;
      await Bun.sleep(RETRY_MS);
    }
  }
};
