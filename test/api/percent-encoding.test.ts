// Paths and queries whose percent-encoding is malformed or no UTF-8: no endpoint takes them for another text.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import type { JsonObject } from "../../src/domain/types.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import type { Harness } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openApiHarness();
});
afterAll(() => harness.close());

type Parameter = { name: string; in: string };
const document = openApiDocument() as { paths: Record<string, Record<string, JsonObject>>; components: JsonObject };
const METHODS = ["get", "put", "post", "patch", "delete", "head"];

const resolved = (parameter: JsonObject): Parameter => {
  const name =
    String(parameter.$ref ?? "")
      .split("/")
      .at(-1) ?? "";
  const { parameters } = document.components as { parameters: Record<string, JsonObject> };
  return (parameter.$ref === undefined ? parameter : parameters[name]) as unknown as Parameter;
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  METHODS.flatMap((method) => {
    const operation = methods[method];
    const parameters = ((operation?.parameters ?? []) as JsonObject[]).map(resolved);
    return operation ? [{ path, method: method.toUpperCase(), parameters }] : [];
  }),
);
const paths = operations.flatMap(({ path, method }) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({ name, path, method })),
);
const queries = operations.flatMap(({ path, method, parameters }) =>
  parameters.filter((one) => one.in === "query").map(({ name }) => ({ name, path: path.replace(/\{\w+\}/g, "x"), method })),
);

const MALFORMED = ["%E9", "%C3", "100%", "%zz", "%EF%BF%BD"];

test.each(["PUT", "GET", "DELETE"])("%s of an end user with such an id is 400, names id and sets nothing", async (method) => {
  for (const id of MALFORMED) {
    const body = method === "PUT" ? { body: { limit_usd: 1, window: "day" } } : {};
    const answered = await harness.request(method, `/v1/end_users/${id}`, body);
    expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answered)).toContain("id: must be UTF-8 in percent-encoding");
  }
  expect((await harness.request("GET", "/v1/end_users")).body.data).toEqual([]);
});

test("a raw byte in the path that is no UTF-8 is 400 as well", async () => {
  const { hostname, port } = new URL(harness.url);
  const body = '{"limit_usd":1,"window":"day"}';
  const text = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname);
    let received = "";
    socket.on("data", (data) => {
      received += data.toString();
    });
    socket.on("close", () => resolve(received));
    const head = `PUT /v1/end_users/\u00e9 HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${harness.tenant.key}\r\n`;
    socket.write(`${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`, "latin1");
  });
  expect(text).toContain("HTTP/1.1 400");
  expect((await harness.request("GET", "/v1/end_users")).body.data).toEqual([]);
});

test("an end user whose name was damaged before it was sent is 400 in the header, too", async () => {
  const headers = { "genrouter-end-user": Buffer.from("Zo\uFFFD", "utf8").toString("latin1") };
  const body = { model: "sim-image-1", input: { prompt: "a kite" } };
  const answered = await harness.request("POST", "/v1/generations", { headers, body });
  expect([answered.status, messageOf(answered)]).toEqual([400, expect.stringContaining("Genrouter-End-User: must be UTF-8")]);
});

test("the API has parameters in paths and queries", () => {
  expect(paths.length).toBeGreaterThan(20);
  expect(queries.length).toBeGreaterThan(15);
});

test.each(paths)("$method $path finds nothing by a malformed $name", async ({ method, path, name }) => {
  for (const value of MALFORMED) {
    const filled = path.replace(`{${name}}`, value).replace(/\{\w+\}/g, "1");
    const headers = { "tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream", "upload-offset": "0" };
    const body = method === "POST" || method === "PUT" || method === "PATCH" ? { body: "{}" } : {};
    const { status } = await harness.request(method, filled, { headers, ...body });
    expect([400, 403, 404]).toContain(status);
  }
});

test.each(queries)("$method $path names a malformed $name", async ({ method, path, name }) => {
  const isSigned = path.startsWith("/files") || path.startsWith("/inputs");
  for (const value of MALFORMED) {
    const answered = await harness.request(method, `${path}?${encodeURIComponent(name)}=${value}`);
    // An endpoint that finds nothing reads no query.
    if (answered.status === 404 && (isSigned || path.includes("/x"))) continue;
    expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answered)).toContain(`${name}: must be UTF-8 in percent-encoding`);
  }
});

test("values of metadata filters and names of members are checked, and a plus is a space", async () => {
  for (const [query, shown] of [
    ["metadata[order]=%E9", "metadata[order]"],
    ["metadata%5Border%5D=%E9", "metadata[order]"],
    ["%E9=1", "query"],
  ]) {
    const answered = await harness.request("GET", `/v1/generations?${query}`);
    expect([answered.status, messageOf(answered)]).toEqual([400, expect.stringContaining(`${shown}: must be UTF-8`)]);
  }
  expect((await harness.request("GET", "/v1/generations?metadata[order]=a+b%20%C3%A9")).status).toBe(200);
});
