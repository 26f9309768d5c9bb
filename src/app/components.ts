// Constructs the components: engine, providers, media, files, console and HTTP server.
import { setImmediate } from "node:timers";
import type { Catalogue } from "../../catalogue/load.ts";
import type { AdminService } from "../admin/admin-service.ts";
import { type Checkout, createCheckout } from "../billing/checkout.ts";
import type { LeaseKeeper } from "../cluster/lease-keeper.ts";
import { createMembership } from "../cluster/membership.ts";
import { BadSetting, type Settings } from "../config/schema.ts";
import { createConsole } from "../console/console.ts";
import type { GenerationService } from "../console/generations-api.ts";
import type { OperatorServiceDeps } from "../console/operator/deps.ts";
import type { PasswordCost } from "../console/passwords.ts";
import { createSessions } from "../console/sessions.ts";
import type { Clock } from "../domain/clock.ts";
import type { Decide } from "../domain/operator-decision.ts";
import type { ResultStorage } from "../files/create-storage.ts";
import type { Spool } from "../files/inline-spool.ts";
import type { Copies } from "../files/input-copies.ts";
import type { Files } from "../files/port.ts";
import { serveThrough } from "../files/proxy-download.ts";
import { createSignedInputLinks } from "../files/signed-input-links.ts";
import { createSignedLinks } from "../files/signed-links.ts";
import { createCommitListeners } from "../generations/commit-listeners.ts";
import { createStuck } from "../generations/stuck.ts";
import { createHttpServer, type Http } from "../http/server.ts";
import { createProviderInputs } from "../inputs/provider-inputs.ts";
import { createInspector, type Inspector } from "../inspector/inspector.ts";
import type { Log } from "../logging/events.ts";
import { readAllowed } from "../media/host-allowlist.ts";
import { logCalls } from "../providers/call-logging.ts";
import { type Callbacks, createCallbackUrls } from "../providers/callback-urls.ts";
import type { Dialects } from "../providers/dialect/load.ts";
import { callProvider } from "../providers/http-call.ts";
import type { Providers } from "../providers/port.ts";
import { type CallTimes, createProviders } from "../providers/providers.ts";
import type { Store } from "../store/store.ts";
import { createGaugeSources } from "../telemetry/gauge-sources.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { createEngine } from "./engine.ts";
import type { Engine, EngineDeps } from "./engine-types.ts";
import { createFileSweeper } from "./file-sweeper.ts";
import { createMaintenance, type Maintenance } from "./maintenance.ts";
import { type JoinedMediaOptions, joinMedia } from "./media-component.ts";

/** Dependencies of the components. */
export type ComponentsDeps = Pick<ResultStorage, "outcomes" | "isDiskFull" | "isBucketDown" | "waiting"> & {
  settings: Settings;
  clock: Clock;
  /** Counts HTTP responses for Prometheus. Its `log` must be the log of the components, otherwise events are not counted. */
  telemetry: Telemetry;
  log: Log;
  store: Store;
  files: Files;
  spool: Spool;
  copies: Copies;
  catalogue: Catalogue;
  /** Provider dialects that replace the built-in ones. */
  dialects?: Dialects;
  /** Speed factor of the providers (the simulator's speed). */
  pace: number;
  /** Wraps the restore of each generation at a start. */
  takingUp?: EngineDeps["takingUp"];
  /** Monotonic time in milliseconds that also passes during a suspension; default: the machine's. */
  monoMs?: () => number;
  /** Called once after an unknown commit outcome or a takeover: the process has to end. */
  unknownOutcome: () => void;
  /** Called when another node may have changed provider credentials. */
  keysChanged?: () => void;
  /** Overrides the timeouts of provider calls. */
  callTimes?: Partial<CallTimes>;
  /** The admin service, loaded by the first request of the console. */
  admin: () => Promise<AdminService>;
  /** Media options of tests, and the switch of the SSRF guard's test. */
  media?: JoinedMediaOptions;
  /** Cost of the hashes of console passwords, set by tests only. */
  passwordCost?: PasswordCost;
};

export type Components = Pick<
  Engine,
  "submit" | "ledger" | "supervisor" | "effects" | "post" | "readiness" | "recover" | "replaceCatalogue" | "stuck" | "watch"
> & {
  decide: Decide;
  http: Http;
  /** The lease keeper of this node; null without a cluster. */
  leaseKeeper: LeaseKeeper | null;
  issueToken: Inspector["issueToken"];
  upkeep: Maintenance;
  /** Reads of the running service for operators. */
  operating: () => Promise<OperatorServiceDeps>;
  /** Sets the address of file links, unless the configuration names one. */
  listensAt: (url: string) => void;
  /** Deletes files past their retention. */
  sweep: () => Promise<void>;
  /** The purchase of credits. */
  checkout: Checkout;
  /** Generations of the console. */
  generationService: GenerationService;
  providers: Providers;
  /** Activates another credential of a provider account, or none. */
  rekeyed: (account: string, key: string | undefined) => void;
  /** Activates all credentials. @returns the providers whose credential changed */
  rekeyedAll: (keys: Settings["providers"]) => string[];
  drain: (longestMs: number) => Promise<void>;
  stop: () => Promise<void>;
};

/** Minimum time in milliseconds for running responses when the service stops. */
const MIN_CLOSING_MS = 1000;

/** Creates the provider clients of the configuration. @throws BadSetting for a credential that cannot be sent. */
const createClients = ({ settings, clock, log, store, copies, callTimes, dialects }: ComponentsDeps, callbacks: Callbacks) => {
  const isOwned = async (provider: string, jobId: string) => (await store.jobOwner(provider, jobId)) !== undefined;
  try {
    const more = { ...(callTimes ? { timeouts: callTimes } : {}), ...(dialects ? { dialects } : {}) };
    const call = logCalls(callProvider, log);
    const { nowMs } = clock;
    return createProviders({
      settings: settings.providers,
      nowMs,
      copyOf: copies.open,
      isOwned,
      callbackUrl: callbacks.urlFor,
      call,
      ...more,
    });
  } catch (fault) {
    throw new BadSetting(fault instanceof Error ? fault.message : String(fault));
  }
};

export const createComponents = async (deps: ComponentsDeps): Promise<Components> => {
  const { settings, clock, log, store, files, spool, telemetry } = deps;
  const callbacks = createCallbackUrls({ secretHex: await store.secret("callbacks"), publicUrl: settings.server.public_url });
  const providers = createClients(deps, callbacks);
  let baseUrl = settings.server.public_url;
  let ownUrl = "";

  const named = readAllowed(settings.media.allow);
  const allows: typeof named = deps.media?.guard === "off" ? () => true : named;
  const membership = createMembership({
    ...{ node: store.node, reads: store, clock, log, ended: deps.unknownOutcome },
    ...(deps.monoMs ? { monoMs: deps.monoMs } : {}),
    engine: () => engine,
    changed: () => {
      http.callersChanged();
      sessions.forget();
      deps.keysChanged?.();
    },
  });
  const { leaseKeeper, remoteChanges, admin, nameGeneration, nodes, alive, isAnotherThere } = membership;
  const joined = joinMedia(deps, providers, allows, deps.media);
  const inputLinks = createSignedInputLinks(await store.secret("inputs"), clock.nowMs);
  const engine = await createEngine({
    limits: settings.limits,
    clock,
    log,
    store,
    files,
    providers,
    media: joined.media,
    inputs: {
      giving: createProviderInputs({
        ...{ links: settings.files.provider_links, publicUrl: settings.server.public_url, providers },
        ownUrl: () => ownUrl,
      }),
      signInput: inputLinks.sign,
      ...{ isTrusting: settings.media.unpinned === "trust", mostBytes: settings.media.pin_bytes },
    },
    allowsHost: allows,
    catalogue: deps.catalogue,
    pace: deps.pace,
    maxMismatched: settings.routing.max_mismatched,
    chance: Math.random,
    soon: setImmediate,
    ...{ nameGeneration, nodes, isAnotherThere },
    ...(leaseKeeper
      ? {
          sure: leaseKeeper.sure,
          isSure: leaseKeeper.isSure,
          isUnavailable: leaseKeeper.isUnavailable,
          unavailableAtMs: leaseKeeper.unavailableAtMs,
        }
      : {}),
    ...{ unknownOutcome: deps.unknownOutcome, outcomes: deps.outcomes },
    ...{ isDiskFull: deps.isDiskFull, isBucketDown: deps.isBucketDown },
    ...{ takingUp: deps.takingUp, stuck: createStuck(log) },
    ...{ callersChanged: () => http.callersChanged(), usersChanged: () => sessions.forget() },
  });
  const links = createSignedLinks({
    secretHex: await store.secret("links"),
    baseUrl: () => baseUrl,
    validS: settings.limits.file_link_ttl_s,
    clock,
  });
  const startedAtMs = clock.nowMs();
  const sessions = createSessions({ reads: store, post: engine.post, clock });
  const gaugeSources = createGaugeSources({
    ...{ settings, clock, engine, nodes: alive, reads: store, waiting: deps.waiting },
    isUnavailable: leaseKeeper?.isUnavailable,
  });
  const watching = createCommitListeners(engine.watch);
  const inspector = createInspector({
    ...{ settings, reads: store, nowMs: clock.nowMs, ledger: engine.ledger, health: engine.health, watch: watching() },
    simulated: (await store.mode()) === "test",
    ...{ isLive: engine.supervisor.isLive, counts: () => engine.supervisor.counts(), post: engine.post },
    elsewhere: remoteChanges && { remoteChanges, collectMs: settings.limits.result_download_timeout_s * 1000 },
    breathe: () => new Promise((turn) => setImmediate(turn)),
    failed: (fault) => log("inspector failed", { reason: fault instanceof Error ? fault.message : String(fault) }),
    signedIn: async (request) => {
      const token = sessions.cookieOf(request);
      const role = token === null ? undefined : (await sessions.find(token))?.role;
      return token === null || role === undefined ? null : { role, isStillIn: () => sessions.isStillIn(token, role) };
    },
  });
  const checkout = createCheckout({
    ...{ settings, clock, log, reads: store, mode: await store.mode(), post: engine.post },
    baseUrl: () => baseUrl,
  });
  const operating = async () => {
    const { createServiceReads } = await import("../console/operator/service-reads.ts");
    return createServiceReads({ settings, clock, reads: store, engine, kept: deps, url: () => baseUrl, startedAtMs });
  };
  const closing = new AbortController();
  const generationService: GenerationService = {
    ...{ reads: store, clock, log, files, submit: engine.submit, quote: engine.quote, models: engine.routes.models },
    ...{ mode: await store.mode(), through: serveThrough, keepFilesS: settings.limits.file_retention_s, soon: setImmediate },
    ...{ watch: watching(), elsewhere: remoteChanges && { remoteChanges, admin }, closing: closing.signal },
    count: (caller) => http.count(caller),
    thumbnail: joined.thumbnail,
    keepOpen: (request) => http.keepOpen(request),
  };
  const answerConsole = createConsole({
    generationService,
    ...{ settings, clock, log, sessions, checkout, admin: deps.admin, issueToken: inspector.issueToken },
    isAtHome: inspector.isAtHome,
    passwordCost: deps.passwordCost,
    ...{ reads: store, post: engine.post, models: () => engine.routes.catalogue().models },
    rollUpUsage: () => upkeep.rollUpUsage(),
    operating,
  });
  const http: Http = createHttpServer({
    ...{ settings, clock, log },
    reads: {
      callerByKeyHash: (hash) => store.callerByKeyHash(hash),
      recent: engine.records.recent,
      generationById: engine.records.find,
      ...{ generationBySeq: store.generationBySeq, pinsOf: store.pinsOf },
    },
    ...{ submit: engine.submit, models: engine.routes.models },
    ...{ files, links, copies: deps.copies, inputLinks, callbacks },
    webhook: checkout.webhook,
    console: answerConsole,
    pages: { console: settings.console.enabled, inspector: inspector.issueToken !== null },
    onCallback: engine.hint,
    readiness: engine.readiness,
    observe: telemetry.observe,
    metrics: () => telemetry.metrics(gaugeSources),
    sockets: inspector.sockets,
    storeOpen: () => engine.phase() !== "stopped",
    sharedRateLimit: store.node === null ? null : { nodes: alive, take: store.node.takeFromRateLimit },
  });

  const upkeep = createMaintenance({
    reads: store,
    ...{ post: engine.post, clock, log },
    keys: http.keyUse,
    breathe: () => new Promise((turn) => setImmediate(turn)),
  });

  /** A drain has one end for its responses and its attempts. */
  let drainEndsAtMs = 0;
  const sweep = createFileSweeper({
    ...{ clock, log, store, files, spool, outcomes: deps.outcomes, copies: deps.copies, post: engine.post },
    // One node of a cluster does it for all.
    isFirst: () => leaseKeeper?.isFirst() ?? true,
  });
  const { submit, decide, ledger, supervisor, effects, post, readiness, recover, replaceCatalogue, stuck, watch } = engine;
  return {
    ...{ http, submit, decide, ledger, supervisor, effects, post, readiness, recover, replaceCatalogue, stuck, watch },
    ...{ issueToken: inspector.issueToken, upkeep, operating, leaseKeeper },
    listensAt: (url) => {
      ownUrl = url;
      if (baseUrl === "") baseUrl = url;
    },
    sweep,
    checkout,
    generationService,
    providers,
    rekeyed: (account, key) => engine.rekeyed(providers.rekey(account, key)),
    rekeyedAll: (keys) => {
      const rekeyedProviders = providers.rekeyAll(keys);
      engine.rekeyed(rekeyedProviders);
      return rekeyedProviders;
    },
    drain: async (longestMs) => {
      drainEndsAtMs = clock.nowMs() + longestMs;
      closing.abort();
      await Promise.all([engine.drain(longestMs), membership.leave(Math.min(longestMs, settings.server.drain_notice_s * 1000))]);
    },
    stop: async () => {
      engine.close();
      inspector.stop();
      closing.abort();
      await http.stop(Math.max(MIN_CLOSING_MS, drainEndsAtMs - clock.nowMs()));
      // Work that waits for the lease is stopped first, because an unavailable store must not delay the exit.
      await Promise.all([engine.stop(), leaseKeeper?.stop()]);
      await joined.close();
    },
  };
};
