// Generates calls of every operation of the OpenAPI document: valid by its schemas, or with one invalid part.
import fc from "fast-check";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { Json, JsonObject } from "../../src/domain/types.ts";
import type { Call } from "./case.ts";
import { draftOf, writeDraft } from "./inputs.ts";
import { mutated } from "./mutations.ts";
import { drawnBy, textOf } from "./values.ts";

type Operation = { method: string; template: string; parameters: JsonObject[]; isKeyed: boolean };

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);
const pointed = (document: JsonObject, at: JsonObject): JsonObject =>
  typeof at.$ref === "string"
    ? at.$ref
        .split("/")
        .slice(1)
        .reduce<JsonObject>((value, name) => value[name] as JsonObject, document)
    : at;

/** Every operation of the document. */
export const operationsOf = (document: JsonObject): Operation[] =>
  Object.entries(document.paths as JsonObject).flatMap(([template, item]) =>
    Object.entries(item as JsonObject).map(([method, operation]) => {
      const { parameters, security } = operation as JsonObject;
      return {
        method: method.toUpperCase(),
        template,
        parameters: objects(parameters).map((parameter) => pointed(document, parameter)),
        isKeyed: objects(security).length > 0,
      };
    }),
  );

/** Ids that exist in the running service, and ids that only look valid. */
const KNOWN_IDS = ["{own}", "{done}", "{failed}", "{foreign}"];
const NO_IDS = ["gen_00000000000000000000z", "x", "-", "_", "a".repeat(80), "gen_", "{done}x", "{Done}"];
/** Invalid ids (§8: 1 to 80 word characters or hyphens) that a path can contain. */
const BAD_IDS = [
  "a".repeat(81),
  "%2e%2e%2f",
  "..%2f..%2fetc%2fpasswd",
  "%00",
  "%zz",
  "%",
  "%ff",
  "é",
  "%C3%A9",
  "a%20b",
  "a.b",
  "{done}%00",
  "a%2Fcontent",
  "%0d%0aX:1",
];
const POSITIONS = ["2", "3", "99", "1", "0", "100", "02", "2.0", "+2", "-2", "%D9%A2", "2e0", "0x2", "", "2%2F3", "a"];

const ownText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const partOf = (document: JsonObject, parameter: JsonObject, isValid: boolean): fc.Arbitrary<string> => {
  const schema = drawnBy(document, parameter.schema as JsonObject).map(ownText);
  if (parameter.name === "id")
    return isValid ? fc.oneof(fc.constantFrom(...KNOWN_IDS), fc.constantFrom(...NO_IDS), schema) : fc.constantFrom(...BAD_IDS);
  if (parameter.name === "n") return isValid ? fc.oneof(fc.constantFrom("2", "1"), schema) : fc.constantFrom(...POSITIONS);
  return schema;
};

/** A header value that an HTTP client can send: printable, trimmed. */
const sendable = (text: string, most: number) => text.replace(/[^\x21-\x7e]/g, "_").slice(0, most);
const headerOf = (document: JsonObject, parameter: JsonObject, isValid: boolean): fc.Arbitrary<[string, string] | null> => {
  const name = String(parameter.name);
  const odd = fc.constantFrom(
    "",
    "x".repeat(201),
    "x".repeat(3_000),
    "a,b",
    "*",
    "bytes=-",
    "bytes=0-0,2-3",
    "bytes=9-1",
    "%00",
    "<x>",
    '"',
  );
  const usual: Record<string, fc.Arbitrary<string>> = {
    "Idempotency-Key": fc.oneof(
      fc.integer({ min: 0, max: 5 }).map((n) => `key-${n}`),
      textOf(1, 200).map((text) => sendable(text, 200) || "k"),
    ),
    Range: fc.constantFrom("bytes=0-", "bytes=0-9", "bytes=-5", "bytes=999999999-"),
    "If-None-Match": fc.constantFrom('"x"', "*", 'W/"x", "y"'),
  };
  const value = isValid
    ? (usual[name] ?? drawnBy(document, parameter.schema as JsonObject).map((drawn) => sendable(ownText(drawn), 80)))
    : odd;
  return fc.option(
    value.map((drawn): [string, string] => [name, drawn]),
    { freq: isValid ? 2 : 5 },
  );
};

const queryOf = (parameters: JsonObject[], isValid: boolean): fc.Arbitrary<string> => {
  if (parameters.length === 0) return fc.constantFrom("", "", "", "?", "?debug=1", "?key={key}", "?n=2&id=..");
  // A link from a poll, unchanged or changed, or text that is no link.
  const good = fc.constant("{link}");
  const spoiled = fc.constantFrom(
    "{link}x",
    "{link}&exp=9999999999",
    "?exp=1&kid=1&sig=x",
    "",
    "?",
    "?exp=&kid=&sig=",
    "{link}%00",
    "?sig={key}",
    "{link}&sig=x",
  );
  return isValid ? good : spoiled;
};

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"];

const callOf = (document: JsonObject, operation: Operation, isValid: boolean): fc.Arbitrary<Call> => {
  const inPlace = (place: string) => operation.parameters.filter((parameter) => parameter.in === place);
  const parts = inPlace("path").map((parameter) =>
    partOf(document, parameter, isValid).map((text) => [String(parameter.name), text] as const),
  );
  const headers = inPlace("header").map((parameter) => headerOf(document, parameter, isValid));
  const methods = operation.method === "GET" ? fc.constantFrom("GET", "GET", "HEAD") : fc.constant(operation.method);
  const callers = isValid
    ? fc.constantFrom("own", "own", "own", "reader")
    : fc.constantFrom("own", "none", "unknown", "reader", "paused", "revoked");
  return fc
    .record({
      method: isValid
        ? methods
        : fc.oneof({ weight: 3, arbitrary: methods }, { weight: 1, arbitrary: fc.constantFrom(...METHODS) }),
      parts: fc.tuple(...parts),
      headers: fc.tuple(...headers),
      query: queryOf(inPlace("query"), isValid),
      as: operation.isKeyed ? callers : fc.constantFrom("none", "none", "own", "unknown"),
    })
    .map(({ method, parts: named, headers: sent, query, as }): Call => {
      const filled = named.reduce((path, [name, text]) => path.replace(`{${name}}`, () => text), operation.template);
      return {
        kind: "call",
        method,
        path: filled + query,
        headers: sent.filter((header) => header !== null),
        body: method === "POST" || method === "PUT" ? "{}" : null,
        as: as as Call["as"],
        expects: null,
      };
    });
};

const STRAY_PATHS = [
  "/",
  "/v1",
  "/v1/",
  "/v2/models",
  "/v1/models/",
  "/V1/models",
  "/metrics",
  "/docs",
  "/docs/errors",
  "/docs/assets/none.js",
  "/llms.txt",
  "/favicon.ico",
  "/docs/",
  "/docs/guides/",
  "/admin",
  "/debug",
  "/v1/accounts",
  "/v1/keys",
  "/.env",
  "/.git/config",
  "/genrouter.db",
  "/files",
  "/files/",
  "/files/{done}",
  "/v1/generations/",
  "/v1/generations/{done}/",
  "/v1/generations/{done}/content/2/3",
  "/console",
  "/api",
  "/v1//models",
  "/control.sock",
];
const SEGMENTS = [
  "v1",
  "v2",
  "generations",
  "models",
  "files",
  "content",
  "{done}",
  "2",
  "",
  ".",
  "a;b",
  "%41",
  "~x",
  "é",
  "index.html",
];
const stray: fc.Arbitrary<Call> = fc
  .record({
    method: fc.constantFrom(...METHODS),
    path: fc.oneof(
      fc.constantFrom(...STRAY_PATHS),
      fc.array(fc.constantFrom(...SEGMENTS), { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join("/")}`),
    ),
    as: fc.constantFrom("own", "none", "unknown"),
  })
  .map(
    ({ method, path, as }): Call => ({
      kind: "call",
      method,
      path,
      headers: [],
      body: null,
      as: as as Call["as"],
      expects: null,
    }),
  );

const post = (body: string, more: Partial<Call> = {}): Call => ({
  kind: "call",
  method: "POST",
  path: "/v1/generations",
  headers: [["Content-Type", "application/json"]],
  body,
  as: "own",
  expects: null,
  ...more,
});

const TYPES = [
  "application/json",
  "text/plain",
  "multipart/form-data",
  "application/x-www-form-urlencoded",
  "",
  "application/json; charset=utf-16",
];
const KEYS: [string, string][][] = [[], [], [["Idempotency-Key", "key-{serial}"]]];

/** Valid calls: all operations, and submissions at three levels of knowledge of the models. */
export const validCalls = (document: JsonObject, models: readonly ModelEntry[]): fc.Arbitrary<Call> => {
  const others = operationsOf(document).filter(({ template, method }) => template !== "/v1/generations" || method !== "POST");
  const accepted = fc
    .tuple(draftOf(models), fc.constantFrom(...KEYS), fc.constantFrom(...TYPES))
    .map(([draft, keys, type]) => post(writeDraft(draft), { headers: [["Content-Type", type], ...keys], expects: "accepted" }));
  const request = drawnBy(document, { $ref: "#/components/schemas/GenerationRequest" });
  const bySchema = fc
    .tuple(request, fc.constantFrom(...models.map(({ id }) => id)), fc.boolean())
    .map(([value, id, isNamed]) => post(JSON.stringify(isNamed ? { ...(value as JsonObject), model: id } : value)));
  const callers = fc
    .tuple(draftOf(models), fc.constantFrom("none", "unknown", "reader", "paused", "poor", "revoked"))
    .map(([draft, as]) => post(writeDraft(draft), { as: as as Call["as"], expects: "refused" }));
  return fc.oneof(
    { weight: 10, arbitrary: fc.oneof(...others.map((operation) => callOf(document, operation, true))) },
    { weight: 5, arbitrary: accepted },
    { weight: 5, arbitrary: bySchema },
    { weight: 2, arbitrary: callers },
  );
};

/** Calls with one invalid part: a field of a submission, an id, a position, a header, a link, a method, a path. */
export const mutatedCalls = (document: JsonObject, models: readonly ModelEntry[]): fc.Arbitrary<Call> => {
  const bodies = mutated(draftOf(models)).map(({ body, mustRefuse }) => post(body, { expects: mustRefuse ? "refused" : null }));
  const keys = fc
    .tuple(draftOf(models), fc.constantFrom("", "x".repeat(201), "é".repeat(101)))
    .map(([draft, key]) =>
      post(writeDraft(draft), { headers: [["Idempotency-Key", key]], expects: key.length === 101 ? null : "refused" }),
    );
  return fc.oneof(
    { weight: 12, arbitrary: bodies },
    { weight: 1, arbitrary: keys },
    { weight: 6, arbitrary: fc.oneof(...operationsOf(document).map((operation) => callOf(document, operation, false))) },
    { weight: 2, arbitrary: stray },
  );
};
