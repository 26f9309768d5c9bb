// Compares a response of the service with openapi.json: path, status, code, headers and body.
import { FormatRegistry, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Json, JsonObject } from "../../src/domain/types.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import {
  BalanceObject,
  ErrorBody,
  Generation,
  GenerationList,
  LedgerList,
  ModelEntryObject,
  ModelList,
  QuoteObject,
  UsageObject,
} from "../../src/http/schema.ts";
import type { ReceivedResponse } from "../harness.ts";

FormatRegistry.Set(
  "date-time",
  (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
);
FormatRegistry.Set("date", (text) => /^\d{4}-\d\d-\d\d$/.test(text));
FormatRegistry.Set("uri", (text) => URL.canParse(text));

/** The schemas by their names in the document. */
const SCHEMAS: Readonly<Record<string, TSchema>> = {
  ...{ Generation, GenerationList, ModelList, LedgerList, Error: ErrorBody },
  ...{ ModelEntry: ModelEntryObject, Quote: QuoteObject, Balance: BalanceObject, Usage: UsageObject },
};

/** Headers of HTTP itself, which the document does not list. */
const OF_HTTP = new Set(["content-type", "content-length", "date", "connection", "keep-alive", "transfer-encoding"]);
/** Headers that every response has, on any path. */
const OF_ALL = ["x-request-id", "genrouter-version", "x-content-type-options"];

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const member = (value: JsonObject, name: string): JsonObject => {
  const found = value[name];
  return isObject(found) ? found : {};
};
const lower = (value: JsonObject): Set<string> => new Set(Object.keys(value).map((name) => name.toLowerCase()));

/** The path template of the document that matches a path, or undefined. */
const templateOf = (paths: JsonObject, path: string): string | undefined => {
  const [plain = ""] = path.split("?");
  if (Object.hasOwn(paths, plain)) return plain;
  return Object.keys(paths).find((template) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(plain));
};

/** The codes that a response can contain: each has an example. */
const codesOf = (media: JsonObject): readonly Json[] =>
  Object.values(member(media, "examples")).flatMap((example) => {
    const value = isObject(example) ? member(example, "value") : {};
    return isObject(value.error) ? [value.error.code ?? null] : [];
  });

/** The operation that describes a method. HEAD uses GET unless it has its own; any operation describes the 405 of an unsupported method. */
const operationOf = (item: JsonObject, method: string, status: number): JsonObject | undefined => {
  const own = item[method.toLowerCase()] ?? item[method === "HEAD" ? "get" : ""];
  if (isObject(own)) return own;
  return status === 405 ? Object.values(item).find(isObject) : undefined;
};

const bodyFaults = (body: Json | undefined, name: string): string[] => {
  const schema = SCHEMAS[name];
  if (!schema || body === undefined) return [];
  return [...Value.Errors(schema, body)].slice(0, 3).map(({ path, message }) => `body${path}: ${message}`);
};

const jsonOf = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/** Built once, because it never changes and takes longer to build than a response. */
let handedOut: JsonObject | undefined;
const documentHandedOut = (): JsonObject => {
  handedOut ??= openApiDocument();
  return handedOut;
};

/**
 * Lists everything in a response that the document does not describe, and everything that the response lacks.
 * @param document by default the document that the service serves.
 */
export const undescribed = (answer: ReceivedResponse, document: JsonObject = documentHandedOut()): string[] => {
  const { method, path, status, headers, text } = answer;
  const reported = (faults: string[]) => faults.map((fault) => `${method} ${path} ${status}: ${fault}`);
  const seen = [...headers.keys()].filter((name) => !OF_HTTP.has(name));
  const lacking = OF_ALL.filter((name) => !headers.has(name)).map((name) => `lacks the header ${name}`);
  const type = headers.get("content-type")?.split(";")[0] ?? "";
  const body = type === "application/json" && text !== "" ? jsonOf(text) : undefined;
  if (type === "application/json" && text !== "" && body === undefined) return reported(["its body is not JSON"]);

  const template = templateOf(member(document, "paths"), path);
  if (template === undefined) {
    const extra = seen.filter((name) => !OF_ALL.includes(name) && name !== "cache-control");
    return reported([...lacking, ...extra.map((name) => `carries ${name}`), ...bodyFaults(body, "Error")]);
  }
  const operation = operationOf(member(member(document, "paths"), template), method, status);
  if (!operation) return reported(["the method is not described"]);
  const response = member(operation, "responses")[String(status)];
  if (!isObject(response)) return reported(["the status is not described"]);

  const described = lower(member(response, "headers"));
  const faults = [
    ...lacking,
    ...seen.filter((name) => !described.has(name)).map((name) => `the header ${name} is not described`),
  ];
  const content = member(response, "content");
  if (body === undefined) {
    if (text !== "" && !Object.hasOwn(content, type)) faults.push(`the type ${type} is not described`);
    if (text === "" && method !== "HEAD" && Object.keys(content).length > 0) faults.push("the described body is missing");
    return reported(faults);
  }
  const media = member(content, "application/json");
  const schema = member(media, "schema");
  const name = typeof schema.$ref === "string" ? (schema.$ref.split("/").at(-1) ?? "") : "";
  if (Object.keys(schema).length === 0) faults.push("the body is not described");
  faults.push(...bodyFaults(body, name));
  const code = isObject(body) ? (member(body, "error").code ?? null) : null;
  if (name === "Error" && !codesOf(media).includes(code)) faults.push(`the code ${JSON.stringify(code)} is not described`);
  return reported(faults);
};
