// HTTP server: serves the table of endpoints with Elysia, and runs the request pipeline.
import { Elysia } from "elysia";
import { ApiError, NO_SUCH_PATH, refuse } from "../domain/api-errors.ts";
import type { Caller } from "../domain/types.ts";
import { KeyGuard } from "./auth.ts";
import { hostFault } from "./client-address.ts";
import { answerFault } from "./errors.ts";
import { watchDescriptors } from "./file-descriptors.ts";
import { openListener } from "./listener.ts";
import { pagesOf, unknownPathOf } from "./pages/routes.ts";
import { createProxies } from "./proxies.ts";
import { RateLimiter } from "./rate-limit.ts";
import { addLogContext, logContextOf, waitedMsOf } from "./request-log-context.ts";
import { type Answer, type PathParams, requestIdOf } from "./response.ts";
import { type HttpDeps, type Route, routesOf } from "./routes.ts";
import { openSocket, SOCKET_LIMITS } from "./websocket-upgrade.ts";

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

/**
 * The runtime's own limit answers without a body. It is therefore far above the limit of body.ts, which answers with an error
 * body.
 */
const RUNTIME_BODY_BYTES = 2 ** 34;
/** The longest idle timeout that the runtime takes, s. */
const MAX_IDLE_S = 255;

const NO_PARAMS: PathParams = {};
const wrongMethod = (route: Route): Answer => {
  const methods = Object.keys(route.answers).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  const allow = [...new Set(methods)].join(", ");
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
const CHANGING = new Set(["POST", "PUT", "PATCH", "DELETE"]);
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
    astray(code === "NOT_FOUND" ? new ApiError("not_found", NO_SUCH_PATH) : error, request),
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
  const isBehindTls = settings.server.public_url.startsWith("https:");
  const unknownPath = unknownPathOf(isBehindTls, deps.pages);
  for (const { path, answer } of pagesOf(isBehindTls, deps.pages)) {
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
