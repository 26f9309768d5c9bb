// Pages and HTTP: sessions, inspector, console, purchases and the HTTP server.
import { setImmediate } from "node:timers";
import type { Model } from "../../catalogue/schema.ts";
import { createCheckout } from "../billing/checkout.ts";
import { memoize } from "../collections/memoize.ts";
import { createConsole } from "../console/console.ts";
import type { GenerationService } from "../console/generations-api.ts";
import { createSessions, type Sessions } from "../console/sessions.ts";
import type { JsonObject } from "../domain/types.ts";
import { createEventStreams } from "../event-streams/event-streams.ts";
import { serveThrough } from "../files/proxy-download.ts";
import type { createCommitListeners } from "../generations/commit-listeners.ts";
import { createListGenerations } from "../generations/list.ts";
import { findRunnableModel } from "../generations/request-checks.ts";
import { createWaiters } from "../generations/waiters.ts";
import { createHttpServer, type Http } from "../http/server.ts";
import { createInspector, type Inspector } from "../inspector/inspector.ts";
import { inputSchema } from "../quote/input-schema.ts";
import type { Mode } from "../store/store.ts";
import { createGaugeSources } from "../telemetry/gauge-sources.ts";
import type { ResumableService } from "../uploads/resumable-service.ts";
import type { UploadService } from "../uploads/upload-service.ts";
import type { ComponentList } from "./component-list.ts";
import { type Connection, createConnection } from "./connection.ts";
import type { CallerCaches, EngineComponent } from "./engine-component.ts";
import type { ErasureComponent } from "./erasure-component.ts";
import type { LinkComponents } from "./link-components.ts";
import { createMaintenance, createUsageRollUp } from "./maintenance.ts";
import type { ProviderComponents } from "./provider-components.ts";
import type { ServiceAddress } from "./service-address.ts";
import type { Components, ComponentsDeps } from "./service-types.ts";
import { createUploads, type InputFiles } from "./upload-components.ts";
import { createResourceOf, createWebhookComponent, type WebhookComponents } from "./webhook-component.ts";

export type HttpComponents = Pick<
  Components,
  | "http"
  | "issueToken"
  | "checkout"
  | "operating"
  | "generationService"
  | "upkeep"
  | "webhooks"
  | "webhookService"
  | "sentRequestOf"
> & {
  /** Ends the streams of the console; other responses have `longestMs` to end. */
  beginDrain: (longestMs: number) => void;
};

/** What pages and HTTP use besides the dependencies of the components. */
export type HttpParts = EngineComponent &
  Pick<ErasureComponent, "erase"> &
  ProviderComponents &
  LinkComponents & { inputFiles: InputFiles } & Pick<Components, "admin" | "notifications"> & {
    address: ServiceAddress;
    caches: Connection<CallerCaches>;
    mode: Mode;
    /** Creates a listener to committed mutations. */
    listenToCommits: ReturnType<typeof createCommitListeners>;
  };

type CommonParts = HttpParts & { sessions: Sessions };

/** Minimum time in milliseconds for running responses when the service stops. */
const MIN_CLOSING_MS = 1000;

const breathe = () => new Promise<void>((turn) => setImmediate(turn));

const createInspectorComponent = (deps: ComponentsDeps, parts: CommonParts): Inspector => {
  const { settings, clock, log, store } = deps;
  const { engine, membership, sessions } = parts;
  const { remoteChanges } = membership;
  return createInspector({
    settings,
    reads: store,
    nowMs: clock.nowMs,
    ledger: engine.ledger,
    health: engine.health,
    watch: parts.listenToCommits(),
    simulated: parts.mode === "test",
    isLive: engine.supervisor.isLive,
    counts: () => engine.supervisor.counts(),
    post: engine.post,
    elsewhere: remoteChanges && { remoteChanges, collectMs: settings.limits.result_download_timeout_s * 1000 },
    breathe,
    failed: (fault) => log("inspector failed", { reason: fault instanceof Error ? fault.message : String(fault) }),
    signedIn: async (request) => {
      const token = sessions.cookieOf(request);
      const role = token === null ? undefined : (await sessions.find(token))?.role;
      return token === null || role === undefined ? null : { role, isStillIn: () => sessions.isStillIn(token, role) };
    },
  });
};

type StreamParts = { http: () => Pick<Http, "count" | "keepOpen">; closing: AbortSignal };

const createGenerationService = (
  deps: ComponentsDeps,
  parts: CommonParts & { uploads: UploadService },
  { http, closing }: StreamParts,
): GenerationService => {
  const { settings, clock, log, store, storage } = deps;
  const { engine, membership } = parts;
  const { remoteChanges, admin } = membership;
  return {
    reads: store,
    clock,
    log,
    files: storage.files,
    submit: engine.submit,
    cancel: engine.cancel,
    erase: parts.erase,
    preview: engine.preview,
    models: engine.routes.models,
    expectedS: (modelId) => {
      const routes = engine.routes.catalogue().model(modelId)?.routes ?? [];
      return routes.length === 0 ? null : Math.min(...routes.map(({ expected_s: seconds }) => seconds));
    },
    mode: parts.mode,
    through: serveThrough,
    uploads: parts.uploads,
    uploadedFiles: storage.uploads,
    links: parts.links,
    keepFilesS: settings.limits.file_retention_s,
    soon: setImmediate,
    watch: parts.listenToCommits(),
    elsewhere: remoteChanges && { remoteChanges, admin },
    closing,
    count: (caller) => http().count(caller),
    thumbnail: parts.thumbnail,
    keepOpen: (request) => http().keepOpen(request),
  };
};

/** Their code is loaded by the first page of an operator. */
const createOperatorReads = (
  { settings, clock, store, storage, backups }: ComponentsDeps,
  { engine, address }: CommonParts,
  rollUpUsage: () => Promise<void>,
) => {
  const startedAtMs = clock.nowMs();
  return async () => {
    const { createServiceReads } = await import("../console/operator/service-reads.ts");
    const { post } = engine;
    const parts = { settings, clock, reads: store, engine, kept: storage, backups, post, rollUpUsage };
    return createServiceReads({ ...parts, url: address.baseUrl, startedAtMs });
  };
};

type ServedParts = Pick<HttpComponents, "checkout"> &
  WebhookComponents & {
    inspector: Inspector;
    answerConsole: ReturnType<typeof createConsole>;
    rollUpUsage: () => Promise<void>;
    closing: AbortSignal;
    uploads: UploadService;
    resumable: ResumableService;
  };

/** Returns the JSON Schema of the input of a model that has a configured route. */
const inputSchemasOf = (
  { settings }: Pick<ComponentsDeps, "settings">,
  { catalogue, state }: CommonParts["engine"]["routes"],
) => {
  const schemaOf = memoize((model: Model) => inputSchema(model, settings.media.allow !== ""));
  return (modelId: string): JsonObject | undefined => {
    const model = findRunnableModel({ catalogue, routeState: state }, { model: modelId });
    return model && schemaOf(model);
  };
};

const createHttp = (deps: ComponentsDeps, parts: CommonParts, served: ServedParts): Http => {
  const { checkout, inspector, answerConsole, rollUpUsage, closing, webhooks, webhookService } = served;
  const { settings, clock, log, store, storage, telemetry } = deps;
  const { engine } = parts;
  const { leaseKeeper, alive } = parts.membership;
  const waiting = { clock, closing, isShared: store.node !== null };
  const gaugeSources = createGaugeSources({
    settings,
    clock,
    engine,
    nodes: alive,
    reads: store,
    waiting: storage.waiting,
    isUnavailable: leaseKeeper?.isUnavailable,
    webhooks: webhooks.load,
  });
  return createHttpServer({
    settings,
    clock,
    log,
    reads: { ...store, recent: engine.records.recent, generationById: engine.records.find },
    cursors: parts.cursors,
    rollUpUsage,
    setEndUserLimit: engine.ledger.post,
    submit: engine.submit,
    cancel: engine.cancel,
    erase: parts.erase,
    quote: engine.quote,
    list: createListGenerations({ reads: store, cursors: parts.cursors, breathe }),
    waitForEnd: createWaiters({
      watch: parts.listenToCommits(),
      reads: { generationById: engine.records.find, endedAmong: store.endedAmong },
      ...waiting,
    }),
    eventStreams: createEventStreams({
      watch: parts.listenToCommits(),
      reads: store,
      resourceOf: createResourceOf(parts.links),
      lowBalanceCredits: settings.credits.low_balance_alert_usd * 100,
      cursors: parts.cursors,
      soon: setImmediate,
      ...waiting,
    }),
    models: engine.routes.models,
    inputSchemaOf: inputSchemasOf(deps, engine.routes),
    files: storage.files,
    links: parts.links,
    ...{ uploads: served.uploads, resumable: served.resumable, uploadedFiles: storage.uploads },
    copies: storage.copies,
    serveInput: parts.inputFiles.serveFile,
    inputLinks: parts.inputLinks,
    callbacks: parts.callbacks,
    webhooks: webhookService,
    stripeWebhook: checkout.webhook,
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
};

type ClosingParts = { http: Http; inspector: Inspector; closing: AbortController };

/** Adds the HTTP server and everything that has to end before it. @returns the function that begins a drain */
const addHttp = (list: ComponentList, deps: ComponentsDeps, parts: HttpParts, { http, inspector, closing }: ClosingParts) => {
  const { clock } = deps;
  /** A drain has one end for its responses and its attempts. */
  let drainEndsAtMs = 0;
  list.add({ name: "HTTP server", stop: () => http.stop(Math.max(MIN_CLOSING_MS, drainEndsAtMs - clock.nowMs())) });
  list.add({ name: "event streams of the console", stop: () => closing.abort() });
  list.add({ name: "inspector", stop: inspector.stop });
  list.add({ name: "admission", stop: parts.engine.close });
  return (longestMs: number): void => {
    drainEndsAtMs = clock.nowMs() + longestMs;
    closing.abort();
  };
};

export const createHttpComponents = (list: ComponentList, deps: ComponentsDeps, parts: HttpParts): HttpComponents => {
  const { settings, clock, log, store } = deps;
  const { engine, address, mode } = parts;
  const { post } = engine;
  const sessions = createSessions({ reads: store, post, clock });
  const common = { ...parts, sessions };
  const inspector = createInspectorComponent(deps, common);
  const checkout = createCheckout({ settings, clock, log, reads: store, mode, post, baseUrl: address.baseUrl });
  const rollUpUsage = createUsageRollUp({ reads: store, post, breathe });
  const operating = createOperatorReads(deps, common, rollUpUsage);
  // The HTTP server serves the console, whose streams use the server.
  const httpConnection = createConnection<Http>("HTTP server");
  const closing = new AbortController();
  const { uploads, resumable } = createUploads(deps, common);
  const webhooks = createWebhookComponent(list, deps, common);
  const generationService = createGenerationService(
    deps,
    { ...common, uploads },
    { http: httpConnection.target, closing: closing.signal },
  );
  const answerConsole = createConsole({
    settings,
    clock,
    log,
    reads: store,
    post,
    sessions,
    checkout,
    generationService,
    webhookService: webhooks.webhookService,
    sentRequestOf: webhooks.sentRequestOf,
    rollUpUsage,
    models: () => engine.routes.catalogue().models,
    admin: parts.admin,
    operating,
    issueToken: inspector.issueToken,
    isAtHome: inspector.isAtHome,
    passwordCost: deps.passwordCost,
  });
  const served = { checkout, inspector, answerConsole, rollUpUsage, closing: closing.signal, uploads, resumable, ...webhooks };
  const http = createHttp(deps, common, served);
  httpConnection.connect(http);
  parts.caches.connect({
    callersChanged: http.callersChanged,
    usersChanged: sessions.forget,
    webhooksChanged: webhooks.webhooks.committed,
    balanceFell: (lowBalance) => {
      webhooks.webhooks.add(lowBalance.deliveries);
      parts.notifications.balanceFell(lowBalance);
    },
    spendReached: parts.notifications.spendReached,
  });
  const upkeep = createMaintenance({ reads: store, post, clock, log, keys: http.keyUse, rollUpUsage });
  const beginDrain = addHttp(list, deps, parts, { http, inspector, closing });
  return {
    ...{ http, issueToken: inspector.issueToken, checkout, operating, generationService, upkeep, beginDrain },
    ...webhooks,
  };
};
