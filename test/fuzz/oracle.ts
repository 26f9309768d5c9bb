// Checks every response against the OpenAPI document: status, type, headers, body, code and leaked internals.
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020";
import type { Json, JsonObject } from "../../src/domain/types.ts";

/** A response with its request. */
export type Answer = { method: string; path: string; status: number; headers: Headers; text: string };

/** A copy of §7, so that an error in the service's table is detected; the others beside 400, 404 and 429 are our additions. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  invalid_request: [400, 405, 409, 412, 415, 416, 460],
  unauthorized: [401],
  insufficient_credits: [402],
  account_disabled: [403],
  generation_not_enabled: [403],
  not_found: [404, 403, 410],
  idempotency_conflict: [409],
  not_ready: [409],
  already_ended: [409],
  not_ended: [409],
  file_in_use: [409],
  upload_quota_exceeded: [409],
  body_too_large: [413],
  invalid_input: [422],
  max_cost_exceeded: [422],
  model_not_available: [422],
  rate_limited: [429],
  concurrency_limit: [429, 423],
  restarting: [503],
  busy: [503],
  model_unavailable: [503],
  server_error: [500],
};

/** Statuses that the runtime returns before our code runs, with an empty body and a closed connection. */
export const OF_RUNTIME: readonly number[] = [400, 413, 431, 505];

/** Text that only internals contain: stack frames, paths, modules, the database, credentials. */
const INSIDE: readonly [what: string, pattern: RegExp][] = [
  ["a stack frame", /\bat (?:async )?[\w.<>]+ \(\S+:\d+|\n\s*at |:\d+:\d+\)?(?:\s|$)/],
  ["a path of the machine", /\/(?:work|tmp|home|root|usr|node_modules|\$bunfs)\//],
  ["a module", /\b(?:node|bun):\w+|\.tsx?\b|elysia|typebox/i],
  ["the database", /SQLITE_|constraint failed|no such (?:table|column)|genrouter\.db/i],
  ["a name of the runtime's errors", /\b(?:TypeError|RangeError|SyntaxError|ReferenceError|ECONN\w+|ENOENT)\b/],
  ["a canary", /canary/i],
  ["a key", /gr_(?:live|test)_\w/],
];

const OF_HTTP = new Set(["content-type", "content-length", "date", "connection", "keep-alive", "transfer-encoding"]);
const OF_ALL = ["x-request-id", "genrouter-version", "x-content-type-options"];

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const member = (value: unknown, name: string): JsonObject => {
  const found = isObject(value) ? value[name] : undefined;
  return isObject(found) ? found : {};
};
/** The path that a request reaches: the runtime resolves dots and absolute URLs as the URL standard says. */
const reached = (path: string): string => {
  const url = URL.parse(path, "http://localhost");
  return url === null || path.includes("#") ? path : url.pathname;
};
const lower = (value: JsonObject) => new Set(Object.keys(value).map((name) => name.toLowerCase()));

const FORMATS = {
  date: (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  uri: (text: string) => URL.canParse(text),
  binary: true,
} as const;

/** Pages for people and for the operator's programs, which the OpenAPI document does not describe. */
const FOR_PEOPLE = /^\/(?:metrics|(?:docs|assets|console|inspector)(?:\/.*)?|llms\.txt|favicon\.ico|webhooks\/stripe)?$/;
/** Codes of the console without a valid sign-in, and codes of the Stripe webhook. */
const OF_CONSOLE: readonly number[] = [400, 409, 413, 422, 429];

export type Oracle = {
  /** All faults of a response; empty if it matches the document. */
  faultsOf(answer: Answer): string[];
};

/** @param document the OpenAPI document as served. */
export const openOracle = (document: JsonObject): Oracle => {
  const ajv = new Ajv2020({ strict: false, allErrors: false, formats: FORMATS });
  ajv.addSchema(document, "doc");
  const checks = new Map<string, ValidateFunction>();
  const checkOf = (pointer: string) => {
    const known = checks.get(pointer) ?? ajv.compile({ $ref: `doc#${pointer}` });
    checks.set(pointer, known);
    return known;
  };
  const parametersOf = (template: string): number => template.split("{").length - 1;
  // A path without parameters takes precedence, as `/v1/files/uploads` before `/v1/files/{id}`.
  const templates = Object.keys(document.paths as JsonObject)
    .toSorted((a, b) => parametersOf(a) - parametersOf(b))
    .map((template) => ({
      template,
      pattern: new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    }));

  const bodyFaults = (pointer: string, body: Json): string[] => {
    const check = checkOf(pointer);
    if (check(body)) return [];
    return (check.errors ?? []).slice(0, 3).map(({ instancePath, message }) => `body${instancePath} ${message}`);
  };

  const errorFaults = (status: number, body: Json | undefined, codes: readonly Json[]): string[] => {
    const { code, message } = member(body, "error");
    const faults = bodyFaults("/components/schemas/Error", body ?? null);
    if (faults.length > 0) return faults;
    if (!codes.includes(code ?? null)) faults.push(`the code ${code} is not described`);
    if (!STATUSES[String(code)]?.includes(status)) faults.push(`the code ${code} does not go with ${status}`);
    if (typeof message !== "string" || message.trim() === "") faults.push("its message says nothing");
    else {
      if (!message.isWellFormed()) faults.push("its message holds half a surrogate pair");
      faults.push(
        ...INSIDE.filter(([, pattern]) => pattern.test(message)).map(
          ([what]) => `its message contains ${what}: ${message.slice(0, 200)}`,
        ),
      );
    }
    return faults;
  };

  const headerFaults = (headers: Headers, status: number, described: ReadonlySet<string>): string[] => {
    const faults = OF_ALL.filter((name) => !headers.has(name)).map((name) => `lacks the header ${name}`);
    for (const [name, value] of headers) {
      if (!OF_HTTP.has(name) && !described.has(name)) faults.push(`the header ${name} is not described`);
      // The caller's request id is returned unchanged.
      if (name !== "x-request-id" && /canary|gr_(?:live|test)_\w/.test(value))
        faults.push(`the header ${name} contains a secret`);
    }
    const must: Record<number, string> = { 401: "www-authenticate", 405: "allow", 429: "retry-after", 503: "retry-after" };
    const needed = must[status];
    if (needed !== undefined && !headers.has(needed)) faults.push(`lacks the header ${needed}`);
    return faults;
  };

  const pageFaults = (path: string, status: number, headers: Headers, text: string): string[] => {
    const faults = OF_ALL.filter((name) => !headers.has(name)).map((name) => `lacks the header ${name}`);
    const more = /^\/(?:(?:console|inspector)\/api|webhooks)\//.test(path) ? OF_CONSOLE : [];
    if (![200, 302, 308, 401, 403, 404, 405, 426, ...more].includes(status)) faults.push(`${status} for a page`);
    if (/canary|gr_(?:live|test)_\w/.test(text)) faults.push("the page contains a secret");
    return faults;
  };

  const faultsOf = ({ method, path, status, headers, text }: Answer): string[] => {
    if (status >= 500 && status !== 503) return [`${status} ${text.slice(0, 200)}`];
    const [plain = ""] = reached(path).split("?");
    if (FOR_PEOPLE.test(plain)) return pageFaults(plain, status, headers, text);
    const matching = templates.filter(({ pattern }) => pattern.test(plain));
    // A method that the first path does not have reaches the next one, as GET of `/v1/files/uploads` reads a file of this id.
    const names = method === "HEAD" ? ["head", "get"] : [method.toLowerCase()];
    const isOf = (template: string): boolean => names.some((name) => isObject(member(document.paths, template)[name]));
    const at = (matching.find(({ template }) => isOf(template)) ?? matching[0])?.template;
    const item = at === undefined ? {} : member(document.paths, at);
    const operationName = method === "HEAD" && !isObject(item.head) ? "get" : method.toLowerCase();
    const own = item[operationName];
    const operation = isObject(own) ? own : status === 405 ? Object.values(item).find(isObject) : undefined;
    if (at !== undefined && operation === undefined) return [`${status}, but the method is not described`];
    const response = member(member(operation, "responses"), String(status));
    // An unknown path: 404, or 400 if it is no valid path.
    if (at === undefined && status !== 404) return [`${status} for a path that there is not`];
    if (at !== undefined && Object.keys(response).length === 0) return [`the status ${status} is not described`];
    const described = at === undefined ? new Set([...OF_ALL, "cache-control"]) : lower(member(response, "headers"));
    const faults = headerFaults(headers, status, described);

    const type = headers.get("content-type") ?? "";
    const content = at === undefined ? { "application/json": {} } : member(response, "content");
    if (Object.keys(content).length === 0) return text === "" ? faults : [...faults, "a body that is not described"];
    if (!Object.hasOwn(content, type)) faults.push(`the type ${JSON.stringify(type)} is not described`);
    if (method === "HEAD") return text === "" ? faults : [...faults, "a body to HEAD"];
    if (type !== "application/json") return text === "" ? [...faults, "no body"] : faults;
    let body: Json | undefined;
    try {
      body = JSON.parse(text) as Json;
    } catch {
      return [...faults, `no JSON: ${JSON.stringify(text.slice(0, 80))}`];
    }
    if (status >= 400) {
      const examples = Object.values(member(member(content, "application/json"), "examples"));
      const codes = at === undefined ? ["not_found"] : examples.map((one) => member(member(one, "value"), "error").code ?? null);
      return [...faults, ...errorFaults(status, body, codes)];
    }
    const pointer = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");
    const where = `/paths/${pointer(at ?? "")}/${operationName}/responses/${status}/content/application~1json/schema`;
    return [...faults, ...bodyFaults(where, body)];
  };
  return { faultsOf };
};
