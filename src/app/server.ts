// The composition root: it constructs all components, starts them in order and stops them in reverse.
import { parkingOf } from "../../actors/supervisor/park.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { AdminService } from "../admin/admin-service.ts";
import { createNightly } from "../backup/nightly.ts";
import type { Settings } from "../config/schema.ts";
import { createCommitListeners } from "../generations/commit-listeners.ts";
import { type CrashLoop, createCrashLoopGuard } from "../generations/crash-loop-guard.ts";
import { createStuck, type Stuck } from "../generations/stuck.ts";
import { providerFacts } from "../providers/providers.ts";
import { createInventory, type Inventory } from "../routing/inventory.ts";
import { LINEAGE, lineageFrom } from "../store/sqlite/database-id.ts";
import type { Mode } from "../store/store.ts";
import { type ComponentList, createComponentList } from "./component-list.ts";
import { createConnection } from "./connection.ts";
import { type CurrentConfig, createCurrentConfig } from "./current-config.ts";
import { createDrain } from "./drain.ts";
import { type CallerCaches, createEngineComponent, type EngineComponent } from "./engine-component.ts";
import { createErasureComponent } from "./erasure-component.ts";
import { createFileSweeper } from "./file-sweeper.ts";
import { createHttpComponents } from "./http-components.ts";
import { createLinkComponents } from "./link-components.ts";
import { createMailComponent } from "./mail-component.ts";
import { createPeriodicWork } from "./periodic-work.ts";
import { startChecks } from "./preflight-checks.ts";
import { createProviderComponents } from "./provider-components.ts";
import { createReload } from "./reload.ts";
import { createRuntimeStats } from "./runtime-stats.ts";
import { createServiceAddress } from "./service-address.ts";
import type { Components, ComponentsDeps, ServerOptions, Service } from "./service-types.ts";
import { addStartup } from "./startup.ts";
import { openStorage, type StorageComponents } from "./storage-components.ts";
import { createInputFiles } from "./upload-components.ts";
import { drainWebhooks } from "./webhook-component.ts";

/** Exit code after an unknown commit outcome; recovery decides after the restart. */
const EXIT_UNKNOWN_OUTCOME = 70;

type AdminParts = EngineComponent & Pick<Components, "providers" | "notifications"> & { mode: Mode };

/** Creates the function that loads and creates the admin service. */
const createAdmin = ({ store, clock, vault, inventory }: ComponentsDeps, parts: AdminParts) => {
  const { engine, rekeyed, providers, mode } = parts;
  const { post, submit, decide, isReachable } = engine;
  const { linkMade } = parts.notifications;
  const deps = { reads: store, post, mode, clock, submit, decide, isReachable, linkMade };
  return async (): Promise<AdminService> => {
    const { createAdminService } = await import("../admin/admin-service.ts");
    return createAdminService({ ...deps, inventory, vault, rekeyed, providers: () => Promise.resolve(providers) });
  };
};

/** Constructs everything except storage, clock and periodic work; the tests pass their own storage and clock. */
export const createComponents = async (list: ComponentList, deps: ComponentsDeps): Promise<Components> => {
  const { settings, clock, log, store, storage } = deps;
  const mode = await store.mode();
  const address = createServiceAddress(settings.server.public_url);
  const links = await createLinkComponents(deps, address);
  // Commits invalidate caches of the HTTP server and of the console, which in turn need the engine.
  const caches = createConnection<CallerCaches>("caches of callers and users");
  const inputFiles = createInputFiles(deps, links, address);
  const provided = await createProviderComponents(list, deps, inputFiles);
  const { providers } = provided;
  const parts = { ...provided, ...links, address, caches, mode, inputFiles };
  const engineComponent = await createEngineComponent(list, deps, parts);
  const { engine, membership, rekeyed, rekeyedAll } = engineComponent;
  const { leaseKeeper } = membership;
  const notifications = createMailComponent(list, deps, address);
  const admin = createAdmin(deps, { ...engineComponent, providers, mode, notifications });
  const listenToCommits = createCommitListeners(engine.watch);
  const erasure = await createErasureComponent(deps, engine, listenToCommits());
  // From here on nothing waits, because the engine already reports to the caches.
  const served = createHttpComponents(list, deps, {
    ...{ ...parts, ...engineComponent, admin, notifications, listenToCommits, erase: erasure.erase },
  });
  const { files, spool, outcomes, copies, uploads, uploadParts } = storage;
  // One node of a cluster does it for all.
  const isFirst = () => leaseKeeper?.isFirst() ?? true;
  const places = { files, spool, outcomes, copies, uploads, uploadParts };
  const sweep = createFileSweeper({ clock, log, store, ...places, post: engine.post, removal: erasure.removal, isFirst });
  const noticeMs = settings.server.drain_notice_s * 1000;
  return {
    ...engine,
    ...served,
    address,
    leaseKeeper,
    sweep,
    eraseExpired: erasure.expired.sweep,
    vacuumErased: erasure.vacuum,
    learnRetentions: erasure.expired.refresh,
    admin,
    notifications,
    providers,
    rekeyed,
    rekeyedAll,
    recover: async () => {
      await engine.recover();
      served.webhooks.begin();
    },
    drain: async (longestMs) => {
      served.beginDrain(longestMs);
      const leaving = membership.leave(Math.min(longestMs, noticeMs));
      await Promise.all([engine.drain(longestMs), leaving, drainWebhooks(served, deps, longestMs)]);
    },
  };
};

/** In a cluster, crashes of a generation are counted by its takeovers, not by the starts of one node. */
const createCrashLoop = ({ store, clock }: StorageComponents, stuck: Stuck): CrashLoop | null =>
  store.node !== null
    ? null
    : createCrashLoopGuard({
        clock,
        noted: store.recoveryNote,
        commit: store.commit,
        unfinished: store.unfinished,
        snapshotOf: store.snapshotOf,
        failed: ({ seq, id }, fault) => stuck.stopped(seq, id, fault instanceof Error ? fault.message : String(fault)),
        parkingOf,
      });

type ServiceParts = {
  config: CurrentConfig;
  stored: StorageComponents;
  components: Components;
  inventory: Inventory;
  drain: Service["drain"];
  ended: Service["ended"];
};

const createService = ({ config, stored, components, inventory, drain, ended }: ServiceParts): Service => {
  const { store, vault, simulator } = stored;
  const { supervisor, effects, ledger, upkeep, rekeyedAll } = components;
  return {
    url: components.address.ownUrl(),
    mode: config.simulated ? "test" : "live",
    reads: store,
    inventory,
    vault,
    providers: components.providers,
    rekeyed: components.rekeyed,
    post: components.post,
    submit: components.submit,
    decide: components.decide,
    linkMade: components.notifications.linkMade,
    readiness: components.readiness,
    settings: config.settings,
    rollUpUsage: upkeep.rollUpUsage,
    figures: createRuntimeStats(() => ({ ...supervisor.counts(), tasks: effects.size(), writes: ledger.load().waiting })),
    simulatorUrl: simulator?.url ?? null,
    issueToken: components.issueToken,
    reload: createReload({
      config,
      vault,
      kept: store.providerKeys,
      rekey: rekeyedAll,
      replaceCatalogue: components.replaceCatalogue,
    }),
    drain,
    ended,
  };
};

/**
 * Creates the service. It answers polls and replays when it listens, and submissions after recovery has read the store.
 * @throws BadSetting, CatalogueError and the errors of src/store/sqlite/errors.ts, one line each; the system error for a port in
 * use.
 */
export const createServer = async (settings: Settings, options: ServerOptions): Promise<Service> => {
  const { simulate, telemetry } = options;
  const { log } = telemetry;
  for (const check of startChecks(settings, simulate ? "test" : "live", options.origins)) await check();
  const config = createCurrentConfig(settings, simulate);
  const { dialects, catalogue } = config;
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const unknownOutcome = () => end(EXIT_UNKNOWN_OUTCOME);
  const list = createComponentList();
  try {
    const stored = await openStorage(list, config, options);
    const { store, clock, storage, keyring, simulator, vault } = stored;
    const stuck = createStuck(log);
    const crashLoop = createCrashLoop(stored, stuck);
    const facts = providerFacts(dialects);
    const inventory = createInventory({ settings: config.settings, simulated: simulate, facts, catalogue, reads: store });
    const keyed = simulator?.settings ?? keyring.first(await store.providerKeys());
    const nightly = createNightly({
      ...{ settings, clock, log, version: packageJson.version },
      lineage: lineageFrom(await store.secret(LINEAGE)),
    });
    const components = await createComponents(list, {
      settings: keyed,
      clock,
      log,
      telemetry,
      store,
      storage,
      catalogue: catalogue(),
      dialects,
      pace: simulate ? settings.simulator.speed : 1,
      vault,
      inventory,
      stuck,
      backups: nightly,
      takingUp: crashLoop?.takingUp,
      unknownOutcome,
      // A simulated provider has a fixed credential.
      ...(simulate ? {} : { renewCredentials: async (activate) => activate(keyring.next(await store.providerKeys()).providers) }),
    });
    addStartup(list, { ...options, settings: keyed, dialects, log, store, storage, components, crashLoop, unknownOutcome });
    const periodicWork = createPeriodicWork({ clock, log, nightly, components });
    list.add({ name: "periodic work", start: periodicWork.start, stop: periodicWork.stop });
    await list.start();
    const drain = createDrain({ settings, log, telemetry, components, periodicWork, crashLoop, list });
    return createService({ config, stored, components, inventory, drain, ended });
  } catch (fault) {
    await list.stop().catch(() => undefined);
    throw fault;
  }
};
