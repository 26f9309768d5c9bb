// HTTP server: the table of all endpoints, served by Elysia, and the request pipeline.
import { Elysia } from "elysia";
import type { Settings } from "../config/schema.ts";
import { ApiError, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { Caller } from "../domain/types.ts";
import type { Copies } from "../files/input-copies.ts";
import type { Files } from "../files/port.ts";
import { extensionOf } from "../files/serve.ts";
import type { InputLinks } from "../files/signed-input-links.ts";
import type { Links } from "../files/signed-links.ts";
import type { Cancel } from "../generations/cancel.ts";
import type { ListGenerations } from "../generations/list.ts";
import type { Quote } from "../generations/quote.ts";
import type { Submit } from "../generations/submit.ts";
import type { WaitForEnd } from "../generations/waiters.ts";
import type { Log } from "../logging/events.ts";
import type { Callbacks } from "../providers/callback-urls.ts";
import type { StoreReads } from "../store/store.ts";
import type { UploadService } from "../uploads/upload-service.ts";
import type { WebhookService } from "../webhooks/service.ts";
import { type AuthenticatedHandler, KeyGuard } from "./auth.ts";
import { hostFault } from "./client-address.ts";
import { type BalanceReads, balance } from "./endpoints/balance.ts";
import { cancellation } from "./endpoints/cancel.ts";
import { content, storedResultsOf } from "./endpoints/content.ts";
import { filePreflight, linkedFile } from "./endpoints/file-links.ts";
import { createFile, deleteFile, fileContent, listFiles, readFile } from "./endpoints/files.ts";
import { generationList } from "./endpoints/generation-list.ts";
import { poll, type RecentReads, submission } from "./endpoints/generations.ts";
import { aliveness, type Readiness, readinessAnswer } from "./endpoints/health.ts";
import { type LedgerDeps, ledger } from "./endpoints/ledger.ts";
import { metricsAnswer } from "./endpoints/metrics.ts";
import { type InputSchemaOf, type Models, modelById, modelList, modelSchema } from "./endpoints/models.ts";
import { type HandlePaymentEvent, webhook } from "./endpoints/payment-webhook.ts";
import { type LinkedInputDeps, linkedInput } from "./endpoints/pinned-inputs.ts";
import { type CallbackReceived, callback } from "./endpoints/provider-callbacks.ts";
import { quoteRequest } from "./endpoints/quotes.ts";
import { type UsageDeps, usage } from "./endpoints/usage.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listDeliveries,
  listEndpoints,
  readDefaultSecret,
  readEndpoint,
  recoverEndpoint,
  redeliver,
  rotateDefaultSecret,
  rotateEndpointSecret,
  testEndpoint,
  type WebhookEndpointsDeps,
} from "./endpoints/webhooks.ts";
import { answerFault } from "./errors.ts";
import { watchDescriptors } from "./file-descriptors.ts";
import { openListener } from "./listener.ts";
import { openApiDocument } from "./openapi/document.ts";
import { type PagesOpen, pagesOf } from "./pages/routes.ts";
import { createProxies } from "./proxies.ts";
import { RateLimiter, type SharedRateLimit } from "./rate-limit.ts";
import { addLogContext, logContextOf, waitedMsOf } from "./request-log-context.ts";
import type { LinkTo } from "./resource.ts";
import {
  type Answer,
  answerPreflight,
  answerPublic,
  type PathParams,
  type PublicJson,
  publicJson,
  requestIdOf,
} from "./response.ts";
import { type Admit, openSocket, SOCKET_LIMITS } from "./websocket-upgrade.ts";

/** Components that the HTTP server depends on. */
export type HttpDeps = {
  settings: Settings;
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "callerByKeyHash" | "generationBySeq" | "pinsOf" | "inputFilesOf" | "uploadedFile"> &
    RecentReads &
    BalanceReads &
    UsageDeps["reads"] &
    LedgerDeps["reads"];
  cursors: LedgerDeps["cursors"];
  rollUpUsage: UsageDeps["rollUpUsage"];
  submit: Submit;
  cancel: Cancel;
  quote: Quote;
  list: ListGenerations;
  waitForEnd: WaitForEnd;
  models: Models;
  inputSchemaOf: InputSchemaOf;
  files: Files;
  links: Links;
  /** Uploaded files of accounts, and the storage of their bytes. */
  uploads: UploadService;
  uploadedFiles: Files;
  /** Copies of pinned inputs and stored files, and the links that authorize providers to read them. */
  copies: Copies;
  serveInput: LinkedInputDeps["serveFile"];
  inputLinks: InputLinks;
  callbacks: Callbacks;
  webhooks: WebhookService;
  /** Handles payment events; null if no payment service is configured. */
  webhook: HandlePaymentEvent | null;
  onCallback: CallbackReceived;
  readiness: Readiness;
  /** Called once per path. The returned function receives each response and its duration. */
  observe: (route: string) => (request: Request, requestId: string, response: Response, durMs: number) => void;
  /** Returns the metrics in Prometheus text format. */
  metrics: () => Promise<string>;
  /** Serves the API of the console and the inspector; null if both are off. */
  console: ((request: Request, requestId: string, address: string, peer: string | undefined) => Promise<Response>) | null;
  pages: PagesOpen;
  /** Paths that accept WebSockets. */
  sockets: readonly { path: string; admit: Admit }[];
  /** The burst limit that the nodes of a cluster share; null for a single node. */
  sharedRateLimit: SharedRateLimit | null;
  /** True if the store is open. Until then every keyed request is answered 503 `restarting`. */
  storeOpen: () => boolean;
};

export type Http = {
  /** Starts listening. Rejects if the address is not available. `url` has no trailing slash. */
  listen(at: { host: string; port: number }): Promise<{ url: string }>;
  /** Refuses new connections, waits for responses in progress (at most `server.drain_s`), then closes idle connections. */
  stop(atMostMs?: number): Promise<void>;
  /** Answers a request without a socket. */
  handle(request: Request): Promise<Response>;
  /** Counts a request that was authenticated by other means than a key. @throws ApiError `rate_limited` */
  count(caller: Caller): void | Promise<void>;
  /** Disables the idle timeout of a streaming response. */
  keepOpen(request: Request): void;
  /** Drops the cached callers. Must be called after a change to a key or an account. */
  callersChanged(): void;
  /** Keys that were used since their last use was stored, and the networks of their callers. */
  keyUse: Pick<KeyGuard, "unnotedUses" | "noted" | "unnotedNetworks" | "networkNoted">;
};

type Method = "GET" | "POST" | "PATCH" | "DELETE" | "OPTIONS";
/** A path and its handlers by method. HEAD is answered wherever GET is; every other method is answered 405. */
export type Route = { path: string; answers: Partial<Record<Method, Answer>> };

/**
 * The runtime's own limit answers without a body. It is therefore far above the limit of body.ts, which answers with an error
 * body.
 */
const RUNTIME_BODY_BYTES = 2 ** 34;
const OPENAPI_MAX_AGE_S = 300;
/** The longest idle timeout that the runtime takes, s. */
const MAX_IDLE_S = 255;

/** What endpoints need of the connection of a request. */
type Connections = {
  /** The address of the peer; undefined if unknown. */
  peerOf: (request: Request) => string | undefined;
  /** Sets the idle timeout of a response that is not sent yet, s. */
  keepOpen: (request: Request, seconds: number) => void;
  /** Disables the idle timeout of a request whose body arrives slowly. */
  disableTimeout: (request: Request) => void;
};
const NO_CONNECTIONS: Connections = { peerOf: () => undefined, keepOpen: () => undefined, disableTimeout: () => undefined };

/** The table of all API endpoints. Parameters are written `:name`. */
export const routesOf = (deps: HttpDeps, guard: KeyGuard, connections: Connections = NO_CONNECTIONS): Route[] => {
  const { reads, files, links, log, clock, storeOpen } = deps;
  const { peerOf, keepOpen, disableTimeout } = connections;
  const uploaded = { uploads: deps.uploads, storage: deps.uploadedFiles, links, log };
  const waiting = { waitForEnd: deps.waitForEnd, keepOpen };
  const linkTo: LinkTo = (id, n, mime) => links.sign(id, n, extensionOf(mime));
  const results = storedResultsOf(files, deps, deps.settings.limits.file_retention_s);
  const allModels = modelList(deps.models);
  let printed: PublicJson | undefined;
  const document: Answer = (request, requestId) => {
    printed ??= publicJson(openApiDocument(), OPENAPI_MAX_AGE_S);
    return answerPublic(printed, request, requestId);
  };
  return [
    {
      path: "/v1/generations",
      answers: {
        POST: guard.keyed("generate", submission(deps, linkTo, waiting)),
        GET: guard.keyed("read", generationList(deps.list, linkTo)),
      },
    },
    {
      path: "/v1/generations/:id",
      answers: {
        GET: guard.keyed(
          "read",
          poll(reads, linkTo, () => links.age(), waiting),
        ),
      },
    },
    { path: "/v1/generations/:id/cancel", answers: { POST: guard.keyed("generate", cancellation(deps.cancel, linkTo)) } },
    { path: "/v1/generations/:id/content", answers: { GET: guard.keyed("read", content(reads, results)) } },
    { path: "/v1/generations/:id/content/:n", answers: { GET: guard.keyed("read", content(reads, results)) } },
    {
      path: "/v1/files",
      answers: {
        GET: guard.keyed("read", listFiles(uploaded)),
        POST: guard.keyed("generate", createFile(uploaded, disableTimeout)),
      },
    },
    {
      path: "/v1/files/:id",
      answers: {
        GET: guard.keyed("read", readFile(uploaded)),
        DELETE: guard.keyed("generate", deleteFile(uploaded)),
      },
    },
    { path: "/v1/files/:id/content", answers: { GET: guard.keyed("read", fileContent(uploaded)) } },
    ...webhookRoutes({ webhooks: deps.webhooks }, guard),
    { path: "/v1/models", answers: { GET: allModels, OPTIONS: answerPreflight } },
    { path: "/v1/models/:id", answers: { GET: modelById(deps.models, deps.inputSchemaOf), OPTIONS: answerPreflight } },
    { path: "/v1/models/:id/schema", answers: { GET: modelSchema(deps.inputSchemaOf), OPTIONS: answerPreflight } },
    { path: "/v1/quotes", answers: { POST: guard.keyed("read", quoteRequest(deps.quote)) } },
    { path: "/v1/balance", answers: { GET: guard.keyed("read", balance(deps)) } },
    { path: "/v1/usage", answers: { GET: guard.keyed("read", usage(deps)) } },
    { path: "/v1/ledger", answers: { GET: guard.keyed("read", ledger(deps)) } },
    { path: "/models.json", answers: { GET: allModels, OPTIONS: answerPreflight } },
    { path: "/openapi.json", answers: { GET: document, OPTIONS: answerPreflight } },
    {
      path: "/files/:id/:n",
      answers: { GET: linkedFile({ links, reads, results, uploads: uploaded, clock, storeOpen }), OPTIONS: filePreflight },
    },
    {
      path: "/inputs/:ref/:n",
      answers: {
        GET: linkedInput({ links: deps.inputLinks, reads, copies: deps.copies, serveFile: deps.serveInput, storeOpen }),
      },
    },
    { path: "/callbacks/:ref/:mac", answers: { POST: callback(deps.callbacks, deps.onCallback) } },
    ...(deps.webhook ? [{ path: "/webhooks/stripe", answers: { POST: webhook(deps.webhook) } }] : []),
    { path: "/healthz", answers: { GET: aliveness } },
    { path: "/readyz", answers: { GET: readinessAnswer(deps.readiness) } },
    { path: "/metrics", answers: { GET: metricsAnswer(deps, peerOf) } },
  ];
};

/** Webhook endpoints, secrets and deliveries. */
const webhookRoutes = (deps: WebhookEndpointsDeps, guard: KeyGuard): Route[] => {
  const keyed = (work: AuthenticatedHandler) => guard.keyed("generate", work);
  return [
    { path: "/v1/webhook_endpoints", answers: { GET: keyed(listEndpoints(deps)), POST: keyed(createEndpoint(deps)) } },
    {
      path: "/v1/webhook_endpoints/:id",
      answers: {
        GET: keyed(readEndpoint(deps)),
        PATCH: keyed(changeEndpoint(deps)),
        DELETE: keyed(deleteEndpoint(deps)),
      },
    },
    { path: "/v1/webhook_endpoints/:id/rotate_secret", answers: { POST: keyed(rotateEndpointSecret(deps)) } },
    { path: "/v1/webhook_endpoints/:id/recover", answers: { POST: keyed(recoverEndpoint(deps)) } },
    { path: "/v1/webhook_endpoints/:id/test", answers: { POST: keyed(testEndpoint(deps)) } },
    { path: "/v1/webhook_secret", answers: { GET: keyed(readDefaultSecret(deps)), POST: keyed(rotateDefaultSecret(deps)) } },
    { path: "/v1/webhook_deliveries", answers: { GET: keyed(listDeliveries(deps)) } },
    { path: "/v1/webhook_deliveries/:id/redeliver", answers: { POST: keyed(redeliver(deps)) } },
  ];
};

const NO_PARAMS: PathParams = {};
const unknownPath: Answer = () => {
  throw new ApiError("not_found", "No such path; see /openapi.json for those there are.");
};

const wrongMethod = (route: Route): Answer => {
  const allow = Object.keys(route.answers)
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .join(", ");
  const message = `This path takes ${allow}.`;
  return () => {
    throw new ApiError("invalid_request", message, { status: 405, headers: { allow } });
  };
};

/**
 * Wraps a handler in the parts that all endpoints share: request id, errors and a log line. Created once per endpoint, never per
 * request. Polls are the majority of requests and logging one would cost more than answering it, so above level `debug` only
 * submissions are logged.
 */
const entrance = (
  deps: HttpDeps & { addressOf: (request: Request) => string },
  route: string,
  answer: Answer,
  event: "request completed" | "read completed",
) => {
  const { log } = deps;
  const see = deps.observe(route);
  const isLogged = event === "request completed" || deps.settings.log.level === "debug";
  const failed = (fault: unknown, request: Request, requestId: string): Response => {
    if (isLogged) addLogContext(request, { error_code: fault instanceof ApiError ? fault.code : "server_error" });
    return answerFault(fault, requestId, log, request.method, route);
  };
  const finishResponse = (request: Request, requestId: string, startedMs: number, response: Response, waitedMs = 0): Response => {
    const durMs = performance.now() - startedMs;
    see(request, requestId, response, durMs - waitedMs);
    if (isLogged) {
      const trail = logContextOf(request);
      const address = trail?.address ?? deps.addressOf(request);
      const dur_ms = Math.round(durMs * 1000) / 1000;
      log(event, { request_id: requestId, method: request.method, route, status: response.status, dur_ms, ...trail, address });
    }
    return response;
  };
  // Not async, so that a response that is ready, such as the model list, is sent without a turn of the event loop. Of the
  // promises of a submission, those of pure pass-through functions are the most expensive.
  return (request: Request, params: PathParams): Response | Promise<Response> => {
    const startedMs = performance.now();
    const requestId = requestIdOf(request);
    let response: Response | Promise<Response>;
    try {
      const fault = hostFault(request);
      response = fault === undefined ? answer(request, requestId, params) : refuse("invalid_request", fault);
    } catch (fault) {
      response = failed(fault, request, requestId);
    }
    if (!(response instanceof Promise)) return finishResponse(request, requestId, startedMs, response);
    return response.then(
      (made) => finishResponse(request, requestId, startedMs, made, waitedMsOf(request)),
      (fault: unknown) => finishResponse(request, requestId, startedMs, failed(fault, request, requestId)),
    );
  };
};

/** Methods whose requests are logged above level `debug`. */
const CHANGING = new Set(["POST", "PATCH", "DELETE"]);
/** The label of unknown paths in metrics and logs. */
const NO_ROUTE = "/*";

/** Creates the HTTP server. It does not listen until `listen` is called. */
export const createHttpServer = (deps: HttpDeps): Http => {
  const { settings, clock, log, storeOpen } = deps;
  const rateLimiter = new RateLimiter(settings.limits.burst_per_s, deps.sharedRateLimit);
  const isTrailed = (scope: "generate" | "read") => scope === "generate" || settings.log.level === "debug";
  const proxies = createProxies(settings.server, log);
  const peerOf = (request: Request) => app.server?.requestIP(request)?.address;
  const addressOf = (request: Request) => proxies.callerOf(request, peerOf(request));
  const guard = new KeyGuard({ reads: deps.reads, clock, rateLimiter, storeOpen, addressOf, isTrailed });

  // Requests that Elysia or the runtime could not route.
  const seeAstray = deps.observe(NO_ROUTE);
  const astray = (fault: unknown, request?: Request): Response => {
    const requestId = request === undefined ? "req_unread" : requestIdOf(request);
    const response = answerFault(fault, requestId, log, request?.method ?? "", "");
    if (request) seeAstray(request, requestId, response, 0);
    return response;
  };
  const app = new Elysia({
    aot: true,
    normalize: false,
    strictPath: true,
    websocket: SOCKET_LIMITS,
    serve: {
      development: false,
      idleTimeout: settings.server.keep_alive_s,
      error: (fault) => astray(fault),
      maxRequestBodySize: RUNTIME_BODY_BYTES,
    },
  }).onError(({ error, code, request }) =>
    astray(code === "NOT_FOUND" ? new ApiError("not_found", "No such path.") : error, request),
  );
  const add = (method: string, path: string, answer: Answer) => {
    const enter = entrance(
      { ...deps, addressOf },
      path === "/" ? NO_ROUTE : path,
      answer,
      CHANGING.has(method) ? "request completed" : "read completed",
    );
    app.route(method, path, ({ request, params }) => enter(request, params ?? NO_PARAMS), { parse: "none" });
  };
  const disableTimeout = (request: Request) => app.server?.timeout(request, 0);
  // The timeout counts from the last byte, and the answer is written after the wait.
  const keepOpen = (request: Request, seconds: number) =>
    app.server?.timeout(request, Math.min(MAX_IDLE_S, seconds + settings.server.keep_alive_s));
  for (const route of routesOf(deps, guard, { peerOf, keepOpen, disableTimeout })) {
    for (const [method, answer] of Object.entries(route.answers)) add(method, route.path, answer);
    add("ALL", route.path, wrongMethod(route));
  }
  const { console: answerConsole } = deps;
  if (answerConsole)
    for (const path of ["/console/api/*", "/inspector/api/*"]) {
      const enter = entrance(
        { ...deps, addressOf },
        path,
        (request, requestId) => {
          const peer = peerOf(request);
          return answerConsole(request, requestId, proxies.callerOf(request, peer), peer);
        },
        "read completed",
      );
      // Methods are registered by name, because the GET of a page would take precedence over a handler for all methods.
      for (const method of ["GET", "POST", "PATCH", "DELETE", "ALL"])
        app.route(method, path, ({ request }) => enter(request, NO_PARAMS), { parse: "none" });
    }
  for (const { path, answer } of pagesOf(settings.server.public_url.startsWith("https:"), deps.pages)) {
    add("GET", path, answer);
    add("ALL", path, path === "/" ? unknownPath : wrongMethod({ path, answers: { GET: answer } }));
  }
  for (const { path, admit } of deps.sockets) {
    const answer: Answer = (request, requestId) => openSocket(admit, request, app.server, requestId);
    add("GET", path, answer);
    add("ALL", path, wrongMethod({ path, answers: { GET: answer } }));
  }
  add("ALL", "/*", unknownPath);
  const listener = openListener(app, (on) => watchDescriptors(log, on));

  return {
    listen: listener.listen,
    stop: (atMostMs = settings.server.drain_s * 1000) => listener.stop(atMostMs),
    handle: async (request) => app.handle(request),
    count: (caller) => rateLimiter.take(caller, clock.nowMs()),
    keepOpen: disableTimeout,
    callersChanged: () => guard.forget(),
    keyUse: guard,
  };
};
