// Router of the console API: checks session, role, origin and body, and formats errors.
import { Value } from "@sinclair/typebox/value";
import { AdminError, type AdminErrorKind } from "../admin/admin-error.ts";
import { BillingError } from "../billing/billing-error.ts";
import { ApiError } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull } from "../domain/commit-errors.ts";
import { schemaFault } from "../domain/schema-errors.ts";
import { jsonAnswer } from "../http/accept-encoding.ts";
import { DEPTH_AT_MOST, isTooDeep, isTooWide, MEMBERS_AT_MOST, readBody } from "../http/body.ts";
import { urlOf } from "../http/client-address.ts";
import { answerFault } from "../http/errors.ts";
import { requireDecoded } from "../http/query.ts";
import { isSameSecret } from "../http/timing-safe-equal.ts";
import type { Log } from "../logging/events.ts";
import { NEEDS_HTTPS } from "./needs-https.ts";
import {
  CONSOLE_CODES,
  ConsoleRefused,
  type ConsoleRequest,
  type ConsoleRoute,
  type PublicRequest,
  type Role,
  type SignedIn,
} from "./request-context.ts";
import { createTokenBucket } from "./token-bucket.ts";

/** The session operations that the router uses. */
export type SessionService = {
  /** The session token that the browser sent; null if absent. */
  cookieOf(request: Request): string | null;
  /** The user of a token; null if the session is invalid or has ended. */
  find(token: string): Promise<SignedIn | null>;
  /** True if the session of a token is valid and has the same role. Does not count as use of the session. */
  isStillIn(token: string, role: Role): Promise<boolean>;
  /** Token that a changing request must send; only pages of this service can read it. */
  csrfOf(token: string): string;
};
export type RouterDeps = {
  routes: readonly ConsoleRoute[];
  sessions: SessionService;
  clock: Clock;
  /** Configured public origin; null selects the host of the request. */
  publicOrigin: string | null;
  log: Log;
};
/** `address`: client address, if known. `peer`: address of the socket. */
export type AnswerConsole = (request: Request, requestId: string, address: string, peer: string | undefined) => Promise<Response>;

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" };
const STATUS_OF_ADMIN: Readonly<Record<AdminErrorKind, number>> = {
  notFound: 404,
  refused: 409,
  failure: 409,
  usage: 400,
  unwritable: 503,
  tryAgain: 503,
};
const RETRY_S = 2;
/** Changes by one user: more than manual work needs, but few enough not to slow down other users. */
const CHANGES = { burst: 120, refillMs: 250 };

type Refused = { status: number; code: string; message: string; retryAfterS?: number | undefined };

/** Converts an error to the response of the console; undefined for a defect. */
const refusedBy = (fault: unknown): Refused | undefined => {
  if (fault instanceof ConsoleRefused)
    return {
      status: CONSOLE_CODES[fault.code],
      code: fault.code,
      message: fault.message,
      retryAfterS: fault.retryAfterS,
    };
  if (fault instanceof BillingError) return { status: CONSOLE_CODES[fault.kind], code: fault.kind, message: fault.message };
  if (fault instanceof ApiError)
    return { status: fault.status, code: fault.code, message: fault.message, retryAfterS: fault.retryAfterS };
  if (fault instanceof AdminError)
    return { status: STATUS_OF_ADMIN[fault.kind], code: fault.code, message: sentence(fault.message) };
  if (fault instanceof StoreFull)
    return { status: 503, code: "busy", message: "The disk of the service is full; try again later.", retryAfterS: RETRY_S };
  return undefined;
};

/** Messages of the admin service are written for a terminal. Here they get a capital letter and a full stop. */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

type Found = { route: ConsoleRoute; params: Record<string, string> };

/** Paths are compared segment by segment; a segment that starts with `:` matches any value. */
const finderOf = (routes: readonly ConsoleRoute[]) => {
  const byLength = Map.groupBy(
    routes.map((route) => ({ route, parts: route.path.split("/") })),
    ({ parts }) => parts.length,
  );
  return (method: string, path: string): Found | "wrong method" | undefined => {
    const sent = path.split("/");
    let isKnown = false;
    for (const { route, parts } of byLength.get(sent.length) ?? []) {
      if (!parts.every((part, at) => part.startsWith(":") || part === sent[at])) continue;
      isKnown = true;
      if (route.method !== method && !(method === "HEAD" && route.method === "GET")) continue;
      const params: Record<string, string> = {};
      for (const [at, part] of parts.entries()) if (part.startsWith(":")) params[part.slice(1)] = decoded(sent[at] ?? "");
      return { route, params };
    }
    return isKnown ? "wrong method" : undefined;
  };
};

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ConsoleRefused("not_found", "There is no such page.");
  }
};

/** Access of a role: members to their own account, viewers read everything, operators change everything. */
const mayEnter = (role: Role, needed: ConsoleRoute["who"], hasAccount: boolean): boolean => {
  if (needed === "member") return hasAccount;
  if (needed === "viewer") return role !== "member";
  return needed === "operator" ? role === "operator" : true;
};

/** Rejects changes from other origins. Browsers send these headers themselves, and pages cannot forge them. */
const requireSameOrigin = (request: Request, publicOrigin: string | null): void => {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const own = [publicOrigin, `http://${request.headers.get("host")}`, `https://${request.headers.get("host")}`];
  if ((site !== null && site !== "same-origin") || (origin !== null && !own.includes(origin)))
    throw new ConsoleRefused("csrf", "This request came from another site; open the console and do it there.");
};

/** Over http, browsers keep a cookie with `Secure`, like that of the session, only for pages of the local machine. */
const KEEPS_COOKIES =
  /^(?:https:\/\/|http:\/\/(?:[^/@]*\.)?localhost(?::\d+)?$|http:\/\/127(?:\.\d+){3}(?::\d+)?$|http:\/\/\[::1\](?::\d+)?$)/i;

/**
 * Rejects a sign-in whose session cookie the browser would drop, before a link is used, an account is created or a password is
 * counted as wrong.
 */
const requireSecureOrigin = (request: Request): void => {
  const origin = request.headers.get("origin");
  if (origin !== null && !KEEPS_COOKIES.test(origin)) throw new ConsoleRefused("insecure_origin", NEEDS_HTTPS);
};

const bodyOf = async (request: Request, { body: schema }: ConsoleRoute): Promise<unknown> => {
  if (!schema) return undefined;
  const text = new TextDecoder().decode(await readBody(request));
  if (isTooDeep(text)) throw new ConsoleRefused("invalid", `The request is nested deeper than ${DEPTH_AT_MOST} levels.`);
  if (isTooWide(text)) throw new ConsoleRefused("invalid", `The request has more than ${MEMBERS_AT_MOST} members and elements.`);
  let sent: unknown;
  try {
    sent = JSON.parse(text);
  } catch {
    throw new ConsoleRefused("invalid", "The request is not valid JSON.");
  }
  const fault = Value.Errors(schema, sent).First();
  if (fault) {
    const { path, message } = schemaFault(fault);
    const named = path.slice(1).replaceAll("/", ".");
    throw new ConsoleRefused("invalid", `${named === "" ? "The request" : named}: ${message}.`);
  }
  return sent;
};

export const createRouter = ({ routes, sessions, clock, publicOrigin, log }: RouterDeps): AnswerConsole => {
  const changing = createTokenBucket(clock, CHANGES);
  const find = finderOf(routes);

  const answer = async (...[request, requestId, address, peer]: Parameters<AnswerConsole>): Promise<Response | object> => {
    const { pathname, search, searchParams: query } = urlOf(request);
    requireDecoded(search.slice(1));
    const found = find(request.method, pathname);
    if (found === undefined) throw new ConsoleRefused("not_found", "There is no such page.");
    if (found === "wrong method") throw new ConsoleRefused("invalid", "This path takes another method.");
    const { route, params } = found;
    const token = sessions.cookieOf(request);
    const who = token === null ? null : await sessions.find(token);
    const changes = route.method !== "GET";
    if (changes) requireSameOrigin(request, publicOrigin);
    if (route.who === "anyone") {
      if (changes) requireSecureOrigin(request);
      const options: PublicRequest = {
        request,
        requestId,
        params,
        query,
        who,
        address,
        peer,
        body: await bodyOf(request, route),
      };
      return route.answer(options);
    }
    if (token === null || who === null) throw new ConsoleRefused("signed_out", "You are signed out; sign in again.");
    if (!mayEnter(who.role, route.who, who.accountId !== null))
      throw new ConsoleRefused(
        "forbidden",
        route.who === "member" ? "You have no account of your own." : "This is for operators of the service.",
      );
    if (changes && !isSameSecret(request.headers.get("x-csrf-token") ?? "", sessions.csrfOf(token)))
      throw new ConsoleRefused("csrf", "This page is out of date; load it again.");
    if (changes) changing.take(who.userId);
    const ask: ConsoleRequest = { request, requestId, params, query, who, address, body: await bodyOf(request, route) };
    return route.answer(ask);
  };

  return async (...requested) => {
    const [request, requestId] = requested;
    try {
      const made = await answer(...requested);
      if (!(made instanceof Response)) return await jsonAnswer(request, made, { ...JSON_HEADERS, "x-request-id": requestId });
      made.headers.set("x-request-id", requestId);
      return made;
    } catch (fault) {
      const refused = refusedBy(fault);
      if (!refused) return answerFault(fault, requestId, log, request.method, "/console/api");
      const { status, code, message, retryAfterS } = refused;
      const headers = {
        ...JSON_HEADERS,
        "x-request-id": requestId,
        ...(retryAfterS ? { "retry-after": String(retryAfterS) } : {}),
      };
      return new Response(JSON.stringify({ error: { code, message } }), { status, headers });
    }
  };
};
