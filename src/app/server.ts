// The composition root: it opens, connects and closes all components in order.
import { parkingOf } from "../../actors/supervisor/park.ts";
import packageJson from "../../package.json" with { type: "json" };
import { createNightly } from "../backup/nightly.ts";
import type { Settings } from "../config/schema.ts";
import { type Clock, systemClock } from "../domain/clock.ts";
import { StoreFull, StoreUnknown } from "../domain/commit-errors.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Decide } from "../domain/operator-decision.ts";
import { createResultStorage } from "../files/create-storage.ts";
import { StorageUnavailable } from "../files/port.ts";
import { createCrashLoopGuard } from "../generations/crash-loop-guard.ts";
import { logRestoredState } from "../generations/restored-state.ts";
import type { Submit } from "../generations/submit.ts";
import { createCredentials, hasCredential, NO_KEY } from "../providers/credentials.ts";
import type { Providers } from "../providers/port.ts";
import { providerFacts } from "../providers/providers.ts";
import { createVault, type Vault } from "../providers/vault.ts";
import { createInventory, type Inventory } from "../routing/inventory.ts";
import { catalogueOf, dialectsOf, knownAccounts } from "../routing/load-catalogue.ts";
import { createEmbeddedSimulator, type EmbeddedSimulator } from "../simulator/embedded.ts";
import { isNewHere, openStore } from "../store/create-store.ts";
import { LINEAGE, lineageFrom } from "../store/sqlite/database-id.ts";
import type { Store } from "../store/store.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { createClockMonitor } from "./clock-monitor.ts";
import { type Components, createComponents } from "./components.ts";
import { startChecks } from "./preflight-checks.ts";
import { createReload } from "./reload.ts";
import { createRuntimeStats, type RuntimeStats, type StatsReader } from "./runtime-stats.ts";

export type Service = {
  /** Listening URL without a trailing slash. */
  url: string;
  mode: "test" | "live";
  reads: Store;
  inventory: Inventory;
  vault: Vault;
  providers: Providers;
  /** Activates another credential of a provider account, or none. */
  rekeyed: (account: string, key: string | undefined) => void;
  /** Posts a mutation of a user or a command. */
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  submit: Submit;
  decide: Decide;
  readiness: () => { ready: boolean; faults: string[] };
  /** Settings of the start or the last reload. */
  settings: () => Settings;
  /** Runtime statistics; each call covers the time since the previous one. */
  figures: (ask: StatsReader) => RuntimeStats;
  /** Resolves when usage includes every generation that has ended by now. */
  rollUpUsage: () => Promise<void>;
  simulatorUrl: string | null;
  /** Creates a token for the inspector; null if it is disabled. */
  issueToken: Components["issueToken"];
  /** Reloads catalogue and credentials. An error rejects the whole reload without a change. */
  reload: ReturnType<typeof createReload>;
  /** Returns 503 `restarting` for submissions. Polls and replays are answered until running work has ended. */
  drain: () => Promise<void>;
  /** Resolves with an exit code when the service stops itself. */
  ended: Promise<number>;
};

/** Exit code after an unknown commit outcome; recovery decides after the restart. */
const EXIT_UNKNOWN_OUTCOME = 70;
/** Interval of heartbeats, so that time never runs backwards across a restart. */
const BEAT_MS = 10_000;
/** Interval at which key uses are stored and usage is rolled up. */
const UPKEEP_MS = 60_000;
/** Maximum time that a file outlives its retention. */
const SWEEP_MS = 60_000;
/** Interval at which pending purchases are queried. */
const ROUNDS_MS = 300_000;

/** Calls `work` periodically until stopped. A failed run is reported, and the next one follows. */
const repeat = (clock: Clock, everyMs: number, work: () => Promise<void>, failed: (fault: unknown) => void): (() => void) => {
  let takeBack: () => void;
  const arm = () => {
    takeBack = clock.after(everyMs, () => {
      arm();
      work().catch(failed);
    });
  };
  arm();
  return () => takeBack();
};

/**
 * Creates the service. It answers polls and replays when it listens, and submissions after recovery has read the store.
 * @param more `around`: wrapper of the store for crash tests. `origins`: source of each setting.
 * @throws BadSetting, CatalogueError and the errors of src/store/sqlite/errors.ts, one line each; the system error for a port in
 * use.
 */
export const createServer = async (
  settings: Settings,
  more: {
    simulate: boolean;
    telemetry: Telemetry;
    around?: (store: Store) => Store;
    origins?: ReadonlyMap<string, string>;
    /** Called when every component is open and the address is needed. */
    beforeListening?: () => Promise<void>;
  },
): Promise<Service> => {
  const { simulate, telemetry, around = (store) => store } = more;
  const { log } = telemetry;
  const mode = simulate ? "test" : "live";
  for (const check of startChecks(settings, mode, more.origins)) await check();
  const dialects = dialectsOf(settings);
  let catalogue = catalogueOf(settings, simulate);
  let current = settings;
  const vault = createVault(settings.data.dir, settings.store.url !== "");
  const keyring = createCredentials({
    ...{ settings: () => current, vault },
    onReport: (reason) => log("credential decryption failed", { reason }),
  });
  // A start without a store that fails on an unreadable key file leaves nothing behind.
  if (!simulate && isNewHere(settings)) keyring.first([]);
  const store = around(await openStore(settings, mode, log));
  const undo: (() => Promise<unknown>)[] = [() => store.close()];
  try {
    const clock = systemClock(await store.lastSeenMs());
    const simulator: EmbeddedSimulator | null = simulate ? await createEmbeddedSimulator(settings, () => catalogue) : null;
    if (simulator) undo.unshift(() => simulator.stop());
    let end: (code: number) => void = () => undefined;
    const ended = new Promise<number>((resolve) => {
      end = resolve;
    });
    const kept = await createResultStorage({ settings, clock, log, store, shared: store.node !== null });
    undo.unshift(() => kept.stop());
    const crashLoop = createCrashLoopGuard({
      clock,
      noted: () => store.recoveryNote(),
      commit: (mutations) => store.commit(mutations),
      unfinished: (afterSeq, limit) => store.unfinished(afterSeq, limit),
      snapshotOf: (seq) => store.snapshotOf(seq),
      failed: ({ seq, id }, fault) => components.stuck.stopped(seq, id, fault instanceof Error ? fault.message : String(fault)),
      parkingOf,
    });
    const inventory = createInventory({
      settings: () => current,
      simulated: simulate,
      facts: providerFacts(dialects),
      catalogue: () => catalogue,
      reads: store,
    });
    const admin = async () =>
      (await import("../admin/admin-service.ts")).createAdminService({
        ...{ reads: store, post: components.post, mode, clock, submit: components.submit, decide: components.decide },
        ...{ inventory, vault, rekeyed: components.rekeyed },
        providers: () => Promise.resolve(components.providers),
      });
    // A full disk or an unavailable bucket is reported once by its component; maintenance runs again anyway.
    const failed = (fault: unknown) => {
      if (fault instanceof StoreFull || fault instanceof StorageUnavailable) return;
      log("maintenance failed", { reason: fault instanceof Error ? fault.message : String(fault) });
    };
    const keyed = simulator?.settings ?? keyring.first(await store.providerKeys());
    const components: Components = await createComponents({
      settings: keyed,
      clock,
      log,
      telemetry,
      store,
      files: kept.files,
      spool: kept.spool,
      ...{ outcomes: kept.outcomes, isDiskFull: kept.isDiskFull, isBucketDown: kept.isBucketDown },
      copies: kept.copies,
      waiting: kept.waiting,
      catalogue,
      dialects,
      pace: simulate ? settings.simulator.speed : 1,
      // In a cluster, crashes of a generation are counted by its takeovers, not by the starts of one node.
      ...(store.node === null ? { takingUp: crashLoop.takingUp } : {}),
      keysChanged: () => {
        if (simulate) return;
        store
          .providerKeys()
          .then((rows) => components.rekeyedAll(keyring.next(rows).providers))
          .catch(failed);
      },
      admin,
      unknownOutcome: () => end(EXIT_UNKNOWN_OUTCOME),
    });
    undo.unshift(() => components.stop());
    await more.beforeListening?.();
    const { url } = await components.http.listen(settings.server);
    components.listensAt(url);
    log("service listening", { url, pid: process.pid });
    if (!simulate && !hasCredential(keyed, knownAccounts(dialects))) log("provider keys missing", { reason: NO_KEY });
    if (store.node === null) await crashLoop.begin();
    await components.recover();
    await components.leaseKeeper?.begin();
    kept.begin();
    logRestoredState(log, await store.restored());
    if (store.node === null)
      crashLoop
        .recovered()
        .catch((fault: unknown) => (fault instanceof StoreUnknown ? end(EXIT_UNKNOWN_OUTCOME) : failed(fault)));
    const watchClock = createClockMonitor(log);
    const beat = repeat(
      clock,
      BEAT_MS,
      async () => {
        watchClock(clock.aheadMs?.() ?? 0);
        await components.post({ mutation: "beat", atMs: clock.nowMs() });
      },
      failed,
    );
    const nightly = createNightly({
      ...{ settings, clock, log, version: packageJson.version },
      lineage: lineageFrom(await store.secret(LINEAGE)),
    });
    const sweep = repeat(clock, SWEEP_MS, components.sweep, failed);
    const upkeep = repeat(
      clock,
      UPKEEP_MS,
      async () => {
        await components.upkeep.noteKeyUse();
        await components.upkeep.rollUpUsage();
        await components.upkeep.settleDebts();
      },
      failed,
    );
    /** Work that one node of a cluster does for all. */
    const asFirst = (work: () => Promise<void>) => async () => {
      if (components.leaseKeeper?.isFirst() ?? true) await work();
    };
    const rounds = repeat(clock, ROUNDS_MS, asFirst(components.checkout.rounds), failed);
    // Payments during the downtime are queried immediately in the background.
    asFirst(components.checkout.rounds)().catch(failed);
    return {
      url,
      mode,
      reads: store,
      inventory,
      vault,
      providers: components.providers,
      rekeyed: components.rekeyed,
      post: components.post,
      submit: components.submit,
      decide: components.decide,
      readiness: components.readiness,
      settings: () => current,
      rollUpUsage: components.upkeep.rollUpUsage,
      figures: createRuntimeStats(() => ({
        ...components.supervisor.counts(),
        tasks: components.effects.size(),
        writes: components.ledger.load().waiting,
      })),
      simulatorUrl: simulator?.url ?? null,
      issueToken: components.issueToken,
      reload: createReload({
        started: settings,
        dialects,
        simulated: simulate,
        vault,
        kept: () => store.providerKeys(),
        rekey: components.rekeyedAll,
        replace: (next, read) => {
          current = next;
          catalogue = read;
          components.replaceCatalogue(read);
        },
      }),
      drain: async () => {
        const startedMs = performance.now();
        const under = () => {
          const { queued, running } = components.supervisor.counts();
          return { queued, running };
        };
        log("service draining", {
          ...under(),
          reason: "open generations continue at the next start; open requests and responses end now",
        });
        beat();
        sweep();
        upkeep();
        rounds();
        // Its steps are short, except the copy of a large database; the next backup deletes an incomplete one.
        const backedUp = nightly.stop(settings.server.drain_s * 1000);
        await components.drain(settings.server.drain_s * 1000);
        await backedUp;
        await components.upkeep.noteKeyUse().catch(() => undefined);
        const left = under();
        // A full disk keeps the count, which only slows the next start.
        if (store.node === null) await crashLoop.stopped().catch(() => undefined);
        for (const close of undo) await close();
        log("service stopped", { ...left, dur_ms: Math.round(performance.now() - startedMs) });
        await telemetry.flush();
      },
      ended,
    };
  } catch (fault) {
    for (const close of undo) await close().catch(() => undefined);
    throw fault;
  }
};
