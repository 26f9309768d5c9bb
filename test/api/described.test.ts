// Tests of the check that compares responses with openapi.json: it finds every omission of the document.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import { openAsked } from "../api-multi-node/request.ts";
import type { Harness, ReceivedResponse } from "../harness.ts";
import { undescribed } from "./described.ts";

let harness: Harness;
const heard: ReceivedResponse[] = [];
beforeAll(async () => {
  harness = await openAsked({ factor: 0, onResponse: (answer) => heard.push(answer) });
});
afterAll(() => harness.close());

/** The document with one part removed or replaced. */
const without = (path: readonly string[], instead?: JsonObject[string]): JsonObject => {
  const document = structuredClone(openApiDocument());
  let at = document;
  for (const name of path.slice(0, -1)) at = at[name] as JsonObject;
  const last = path.at(-1) ?? "";
  expect(at[last]).toBeDefined();
  if (instead === undefined) delete at[last];
  else at[last] = instead;
  return document;
};
const RESPONSES = ["paths", "/v1/generations", "post", "responses"];
const ORDER = { model: "vidmodel-2.0-mini", input: { prompt: "x" } };

type Fault = [what: string, ask: () => Promise<unknown>, document: () => JsonObject, says: RegExp];
const post = (body: unknown, key?: string | null) =>
  harness.request("POST", "/v1/generations", { body, ...(key === undefined ? {} : { key }) });
const FAULTS: Fault[] = [
  ["a path", () => harness.request("GET", "/healthz"), () => without(["paths", "/healthz"]), /body/],
  ["a status", () => post(ORDER), () => without([...RESPONSES, "202"]), /status is not described/],
  ["a header", () => post(ORDER), () => without([...RESPONSES, "202", "headers", "Location"]), /header location is not/],
  [
    "a header of an error",
    () => post("x", null),
    () => without([...RESPONSES, "401", "headers", "WWW-Authenticate"]),
    /www-auth/,
  ],
  ["a code", () => post("x"), () => without([...RESPONSES, "400"], openApiAnswer("404")), /code "invalid_request" is not/],
  ["a body", () => post(ORDER), () => without([...RESPONSES, "202", "content"]), /body is not described/],
  ["another body", () => post(ORDER), () => without([...RESPONSES, "202"], modelListAnswer()), /body/],
  [
    "a method",
    () => harness.request("GET", "/v1/models"),
    () => without(["paths", "/v1/models", "get"]),
    /method is not described/,
  ],
];
const openApiAnswer = (status: string): JsonObject => {
  const paths = openApiDocument().paths as Record<string, { get: { responses: JsonObject } }>;
  return paths["/v1/generations/{id}"]?.get.responses[status] as JsonObject;
};
const modelListAnswer = (): JsonObject => {
  const document = openApiDocument() as { paths: Record<string, Record<string, { responses: JsonObject }>> };
  const submitted = document.paths["/v1/generations"]?.post?.responses["202"] as JsonObject;
  const listed = document.paths["/v1/models"]?.get?.responses["200"] as JsonObject;
  return { ...submitted, content: listed.content ?? {} };
};

test.each(FAULTS)("undescribed() reports %s that the document omits", async (_what, ask, document, says) => {
  heard.length = 0;
  await ask();
  const answer = heard[0];
  if (!answer) throw new Error("no response was recorded");
  expect(undescribed(answer)).toEqual([]);
  expect(undescribed(answer, document()).join("\n")).toMatch(says);
});

test("undescribed() reports a missing header, a missing or additional field and a malformed value of a response", async () => {
  heard.length = 0;
  await post(ORDER);
  const answer = heard[0];
  if (!answer) throw new Error("no response was recorded");
  const headers = new Headers(answer.headers);
  headers.delete("x-request-id");
  expect(undescribed({ ...answer, headers }).join("\n")).toContain("lacks the header x-request-id");
  const { cost_usd: _, ...less } = JSON.parse(answer.text) as JsonObject;
  expect(undescribed({ ...answer, text: JSON.stringify(less) }).join("\n")).toContain("cost_usd");
  expect(undescribed({ ...answer, text: JSON.stringify({ ...less, cost_usd: null, more: 1 }) }).join("\n")).toContain("more");
  expect(undescribed({ ...answer, text: JSON.stringify({ ...less, cost_usd: null, created_at: "today" }) })).toHaveLength(1);
});
