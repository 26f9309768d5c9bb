// The door: every path of the service in one table, served by Elysia, and the way that each request takes through it.
import { Elysia } from "elysia";
import type { Settings } from "../config/schema.ts";
import { ApiError, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { Caller } from "../domain/types.ts";
import type { Copies } from "../files/input-copies.ts";
import type { Files } from "../files/port.ts";
import type { InputLinks } from "../files/signed-input-links.ts";
import type { Links } from "../files/signed-links.ts";
import type { Submit } from "../generations/submit.ts";
import type { Log } from "../logging/events.ts";
import type { Callbacks } from "../providers/callback-urls.ts";
import type { StoreReads } from "../store/store.ts";
import { KeyGuard } from "./auth.ts";
import { hostFault } from "./client-address.ts";
import { content, storedResultsOf } from "./endpoints/content.ts";
import { filePreflight, linkedFile } from "./endpoints/file-links.ts";
import { poll, type RecentReads, submission } from "./endpoints/generations.ts";
import { aliveness, type Readiness, readinessAnswer } from "./endpoints/health.ts";
import { metricsAnswer } from "./endpoints/metrics.ts";
import { type Models, modelList } from "./endpoints/models.ts";
import { type HandlePaymentEvent, webhook } from "./endpoints/payment-webhook.ts";
import { linkedInput } from "./endpoints/pinned-inputs.ts";
import { type CallbackReceived, callback } from "./endpoints/provider-callbacks.ts";
import { answerFault } from "./errors.ts";
import { watchDescriptors } from "./file-descriptors.ts";
import { openListener } from "./listener.ts";
import { openApiDocument } from "./openapi/document.ts";
import { type PagesOpen, pagesOf } from "./pages/routes.ts";
import { createProxies } from "./proxies.ts";
import { BurstGuard, type SharedBurst } from "./rate-limit.ts";
import { addLogContext, logContextOf } from "./request-log-context.ts";
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

/** What the door needs of the other rooms. */
export type HttpDeps = {
  settings: Settings;
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "callerByKeyHash" | "generationBySeq" | "pinsOf"> & RecentReads;
  submit: Submit;
  models: Models;
  files: Files;
  links: Links;
  /** Copies of pinned inputs, and the links that open them for providers. */
  copies: Copies;
  inputLinks: InputLinks;
  callbacks: Callbacks;
  /** Takes news of payments; null where none are taken. */
  webhook: HandlePaymentEvent | null;
  told: CallbackReceived;
  readiness: Readiness;
  /** Asked once for each path: what sees its answers and how long they took. */
  observe: (route: string) => (request: Request, requestId: string, response: Response, durMs: number) => void;
  /** The text for Prometheus. */
  metrics: () => Promise<string>;
  /** Answers the API of the console and the inspector; null where there is none. */
  console: ((request: Request, requestId: string, address: string, peer: string | undefined) => Promise<Response>) | null;
  pages: PagesOpen;
  /** Paths that take WebSockets. */
  sockets: readonly { path: string; admit: Admit }[];
  /** What nodes that share the store count together; null where there is one. */
  sharedBurst: SharedBurst | null;
  /** Whether the store can be asked; until then every keyed request is answered 503 `restarting`. */
  storeOpen: () => boolean;
};

export type Http = {
  /** Starts listening. Rejects when the address cannot be had. `url` has no slash at its end. */
  listen(at: { host: string; port: number }): Promise<{ url: string }>;
  /** Refuses new connections, lets the answers under way leave (for `server.drain_s` at most), then closes what is idle. */
  stop(atMostMs?: number): Promise<void>;
  /** Answers a request without a socket. */
  handle(request: Request): Promise<Response>;
  /** Counts a request that came in another way than with a key. @throws Refusal `rate_limited` */
  count(caller: Caller): void | Promise<void>;
  /** Lets an answer that never ends rest for as long as it likes. */
  keepOpen(request: Request): void;
  /** Must be called when a key or an account has changed: what is remembered of callers is dropped. */
  callersChanged(): void;
  /** Keys that were used since that was last noted, and from where. */
  keyUse: Pick<KeyGuard, "unnotedUses" | "noted" | "unnotedNetworks" | "networkNoted">;
};

type Method = "GET" | "POST" | "OPTIONS";
/** A path and what it answers; HEAD works wherever GET does, every other method is 405. */
export type Route = { path: string; answers: Partial<Record<Method, Answer>> };

/** Bun's own limit answers without a body, so it stands far above ours (body.ts), which does not. */
const RUNTIME_BODY_BYTES = 2 ** 34;
const OPENAPI_MAX_AGE_S = 300;

/** The whole table of paths. Parameters are written `:name`. */
export const routesOf = (
  deps: HttpDeps,
  guard: KeyGuard,
  peerOf: (request: Request) => string | undefined = () => undefined,
): Route[] => {
  const { reads, files, links } = deps;
  const linkTo: LinkTo = (id, n) => links.sign(id, n);
  const shelf = storedResultsOf(files, deps, deps.settings.limits.file_retention_s);
  const list = modelList(deps.models);
  let printed: PublicJson | undefined;
  const document: Answer = (request, requestId) => {
    printed ??= publicJson(openApiDocument(), OPENAPI_MAX_AGE_S);
    return answerPublic(printed, request, requestId);
  };
  return [
    {
      path: "/v1/generations",
      answers: { POST: guard.keyed("generate", submission(deps, linkTo)) },
    },
    {
      path: "/v1/generations/:id",
      answers: {
        GET: guard.keyed(
          "read",
          poll(reads, linkTo, () => links.age()),
        ),
      },
    },
    { path: "/v1/generations/:id/content", answers: { GET: guard.keyed("read", content(reads, shelf)) } },
    { path: "/v1/generations/:id/content/:n", answers: { GET: guard.keyed("read", content(reads, shelf)) } },
    { path: "/v1/models", answers: { GET: list, OPTIONS: answerPreflight } },
    { path: "/models.json", answers: { GET: list, OPTIONS: answerPreflight } },
    { path: "/openapi.json", answers: { GET: document, OPTIONS: answerPreflight } },
    { path: "/files/:id/:n", answers: { GET: linkedFile(links, reads, shelf, deps.storeOpen), OPTIONS: filePreflight } },
    { path: "/inputs/:ref/:n", answers: { GET: linkedInput(deps.inputLinks, reads, deps.copies, deps.storeOpen) } },
    { path: "/callbacks/:ref/:mac", answers: { POST: callback(deps.callbacks, deps.told) } },
    ...(deps.webhook ? [{ path: "/webhooks/stripe", answers: { POST: webhook(deps.webhook) } }] : []),
    { path: "/healthz", answers: { GET: aliveness } },
    { path: "/readyz", answers: { GET: readinessAnswer(deps.readiness) } },
    { path: "/metrics", answers: { GET: metricsAnswer(deps, peerOf) } },
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
 * Puts around an answer what all have: request id, errors, a log line. Made once per route, never per request. Polls are
 * most of all requests and a line for each would cost more than the answer: only submissions have one below `debug`.
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
  const leave = (request: Request, requestId: string, startedMs: number, response: Response): Response => {
    const durMs = performance.now() - startedMs;
    see(request, requestId, response, durMs);
    if (isLogged) {
      const trail = logContextOf(request);
      const address = trail?.address ?? deps.addressOf(request);
      const dur_ms = Math.round(durMs * 1000) / 1000;
      log(event, { request_id: requestId, method: request.method, route, status: response.status, dur_ms, ...trail, address });
    }
    return response;
  };
  // Not async: an answer that is ready, as the model list is, leaves without a turn of the event loop, and of the promises of a submission
  // those of functions that only hand on are the dearest.
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
    if (!(response instanceof Promise)) return leave(request, requestId, startedMs, response);
    return response.then(
      (made) => leave(request, requestId, startedMs, made),
      (fault: unknown) => leave(request, requestId, startedMs, failed(fault, request, requestId)),
    );
  };
};

/** How paths that there are not are told. */
const NO_ROUTE = "/*";

/** Opens the door. Nothing listens until `listen`. */
export const createHttpServer = (deps: HttpDeps): Http => {
  const { settings, clock, log, storeOpen } = deps;
  const burst = new BurstGuard(settings.limits.burst_per_s, deps.sharedBurst);
  const isTrailed = (scope: "generate" | "read") => scope === "generate" || settings.log.level === "debug";
  const proxies = createProxies(settings.server, log);
  const peerOf = (request: Request) => app.server?.requestIP(request)?.address;
  const addressOf = (request: Request) => proxies.callerOf(request, peerOf(request));
  const guard = new KeyGuard({ reads: deps.reads, clock, burst, storeOpen, addressOf, isTrailed });

  // What Elysia or the runtime could not bring to a route at all.
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
      method === "POST" ? "request completed" : "read completed",
    );
    app.route(method, path, ({ request, params }) => enter(request, params ?? NO_PARAMS), { parse: "none" });
  };
  for (const route of routesOf(deps, guard, peerOf)) {
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
      // By name: a page's GET would go before what takes every method.
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
    count: (caller) => burst.take(caller, clock.nowMs()),
    keepOpen: (request) => app.server?.timeout(request, 0),
    callersChanged: () => guard.forget(),
    keyUse: guard,
  };
};
