// The desk: reaches the admin service of a data directory, through the running service or, when none runs, by owning it for a moment.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type AdminService, createAdminService } from "../admin/admin-service.ts";
import { leaveDecision } from "../cluster/takeover.ts";
import type { Settings } from "../config/schema.ts";
import { systemClock } from "../domain/clock.ts";
import type { AdminMutation } from "../store/mutations.ts";
import { DirectoryInUse } from "../store/sqlite/errors.ts";
import type { Store } from "../store/store.ts";
import { handOver } from "./chown-files.ts";
import { adminOverSocket, requestFor } from "./control-client.ts";
import { commandActor } from "./principal.ts";

/** A service that is starting owns the directory before its socket is there; this is how long a command waits for it. */
const STARTING_MS = 5000;
const ASK_AGAIN_MS = 100;

/** Providers and routes as they would be if the service started now. */
const marketOf = async (settings: Settings, store: Store) => {
  const [{ createInventory }, { catalogueOf, dialectsOf }, { createProviders, providerFacts }, { createVault }, { withKeys }] =
    await Promise.all([
      import("../routing/inventory.ts"),
      import("../routing/load-catalogue.ts"),
      import("../providers/providers.ts"),
      import("../providers/vault.ts"),
      import("../providers/credentials.ts"),
    ]);
  const simulated = (await store.mode()) === "test";
  const market = createInventory({
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
  return { market, vault, providers, rekeyed: () => undefined };
};

/** What may become of a directory without a database: nothing (it is refused), or a new one for money or for the simulator. */
export type InitialSettings = { create: "live" | "test"; note: (line: string) => void } | null;

/** The admin service over a store that this process writes to for a moment. */
const adminOver = async (settings: Settings, store: Store): Promise<AdminService> => {
  const clock = systemClock(await store.lastSeenMs());
  const by = commandActor();
  return createAdminService({
    reads: store,
    post: async (mutation: AdminMutation) => {
      const [outcome] = await store.commit([{ ...mutation, atMs: mutation.atMs ?? clock.nowMs(), by }]);
      if (outcome?.kind !== "done" && outcome?.kind !== "refused")
        throw new Error(`a ${mutation.mutation} mutation had no outcome`);
      return outcome;
    },
    mode: await store.mode(),
    clock,
    submit: null,
    decide: store.node && leaveDecision(store.node),
    ...(await marketOf(settings, store)),
  });
};

/** A shared database needs no leave: for a moment this process is one node more. @throws DatabaseUnavailable, WrongSchema */
const openShared = async ({ store: { url, prepared: prepare } }: Settings, birth: InitialSettings): Promise<Store> => {
  // What is not there yet is only made where a new one is wanted.
  if (birth === null)
    await (await import("../store/postgres/read-only-client.ts"))
      .openPostgresReads({ url, prepare })
      .then((reads) => reads.close());
  const { openPostgresStore } = await import("../store/postgres/client.ts");
  return await openPostgresStore({ url, prepare, readers: 2, isVisit: true });
};

/**
 * Runs work with the admin service of a data directory, or of the database that the settings name.
 * @throws DirectoryInUse when another process owns it and does not answer, DirectoryUnusable, and what `work` throws.
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
      // A directory that exists keeps the mode it was made with.
      const store = await openSqliteStore({
        dir,
        allowNetworkDisk,
        ...(isNew && birth ? { mode: birth.create } : { requireExisting: true }),
      });
      try {
        if (isNew) birth?.note(`new data directory ${resolve(dir)}`);
        return await work(await adminOver(settings, store));
      } finally {
        await store.close();
        handOver(dir);
      }
    } catch (fault) {
      if (!(fault instanceof DirectoryInUse) || performance.now() > endMs) throw fault;
      await Bun.sleep(ASK_AGAIN_MS);
    }
  }
};
