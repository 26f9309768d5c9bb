// Tests of openapi.json: valid, committed, complete, and equal to the behaviour of the server.
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FormatRegistry } from "@sinclair/typebox";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import { API_ERRORS } from "../../src/domain/api-errors.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import { type HttpDeps, type Route, routesOf } from "../../src/http/routes.ts";
import { type Harness, keepFile, openHarness } from "./harness.ts";

FormatRegistry.Set("uri", (text) => URL.canParse(text));
const ROOT = join(import.meta.dir, "../..");
const FILE = join(ROOT, "openapi.json");
const document = openApiDocument();

type Operation = {
  responses: Record<string, { headers?: JsonObject; content?: Record<string, JsonObject> }>;
  "x-extension"?: boolean;
};
const paths = document.paths as unknown as Record<string, Record<string, Operation>>;

test("the committed openapi.json equals the document that the service serves (UPDATE=1 rewrites it)", async () => {
  const printed = `${JSON.stringify(document, null, 2)}\n`;
  if (process.env.UPDATE === "1") writeFileSync(FILE, printed);
  expect(readFileSync(FILE, "utf8")).toBe(printed);
  await using harness = await openHarness();
  const served = await harness.call("/openapi.json", { key: null });
  expect(await served.json()).toEqual(JSON.parse(printed));
  expect((document.info as JsonObject).version).toBe("2026-10-19");
});

test("openapi.json passes the linter with its recommended rules", () => {
  const { stdout, stderr } = spawnSync(
    join(ROOT, "node_modules/.bin/redocly"),
    ["lint", FILE, "--config", join(import.meta.dir, "redocly.yaml"), "--format", "json"],
    { encoding: "utf8", env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "1" } },
  );
  const start = stdout.indexOf("{");
  if (start === -1) throw new Error(`the linter printed no report: ${stdout}${stderr}`);
  const { totals, problems } = JSON.parse(stdout.slice(start)) as {
    totals: { errors: number; warnings: number };
    problems: object[];
  };
  expect(problems).toEqual([]);
  expect(totals).toMatchObject({ errors: 0, warnings: 0 });
}, 60_000);

test("describes exactly the endpoints of the server, without callbacks, inputs and metrics", async () => {
  const all: Route[] = routesOf(
    { settings: { limits: {} } } as unknown as HttpDeps,
    { keyed: () => () => new Response() } as never,
  );
  const isOwn = (path: string) => path.startsWith("/callbacks/") || path.startsWith("/inputs/") || path === "/metrics";
  const routes = all.filter(({ path }) => !isOwn(path));
  expect(routes).toHaveLength(all.length - 3);
  const asPath = (path: string) => path.replace(/:(\w+)/g, "{$1}");
  const open = routes.map(({ path, answers }) => [
    asPath(path),
    Object.keys(answers)
      .map((method) => method.toLowerCase())
      .sort(),
  ]);
  const described = Object.entries(paths).map(([path, item]) => [path, Object.keys(item).sort()]);
  expect(described.sort()).toEqual(open.sort());
});

/** The five endpoints of the specification, sections 4.1 to 4.5 of docs/interface.md. */
const SPECIFIED = [
  "post /v1/generations",
  "get /v1/generations/{id}",
  "get /v1/generations/{id}/content",
  "get /v1/generations/{id}/content/{n}",
  "get /v1/models",
];

test("marks exactly the operations beyond the specification with x-extension", () => {
  const unmarked = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => (operation["x-extension"] === true ? [] : [`${method} ${path}`])),
  );
  expect(unmarked.sort()).toEqual(SPECIFIED.toSorted());
});

test("describes every code of the error table with its status on some path", () => {
  const described = new Set<string>();
  for (const item of Object.values(paths))
    for (const operation of Object.values(item))
      for (const [status, response] of Object.entries(operation.responses)) {
        const examples = (response.content?.["application/json"]?.examples ?? {}) as JsonObject;
        for (const code of Object.keys(examples)) described.add(`${status} ${code}`);
      }
  for (const [code, { status }] of Object.entries(API_ERRORS)) expect(described).toContain(`${status} ${code}`);
});

/** Headers that the runtime adds and that mean nothing to a client. */
const BY_THE_RUNTIME = ["date", "content-length", "content-type", "transfer-encoding", "connection", "keep-alive"];

type See = (path: string, at: string, init?: Parameters<Harness["call"]>[1]) => Promise<void>;

/** Requests every status of the paths of uploaded files. */
const seeFiles = async (harness: Harness, see: See): Promise<void> => {
  const post = (body: string, more: Parameters<Harness["call"]>[1] = {}) =>
    see("/v1/files", "/v1/files", { method: "POST", body, ...more });
  await post("bytes");
  await post("");
  for (const key of [null, harness.addCaller({ scope: "read" })]) await post("bytes", { key });
  await see("/v1/files", "/v1/files?limit=1");
  await see("/v1/files", "/v1/files?limit=0");
  const { data } = (await (await harness.call("/v1/files")).json()) as { data: { id: string; url: string }[] };
  const [file] = data;
  if (!file) throw new Error("no file was uploaded");
  const one = "/v1/files/{id}";
  const at = `/v1/files/${file.id}`;
  await see(one, at);
  await see(one, "/v1/files/file_x");
  await see(`${one}/content`, `${at}/content`);
  await see(`${one}/content`, `${at}/content`, { headers: { range: "bytes=0-1" } });
  await see(`${one}/content`, `${at}/content`, { headers: { range: "bytes=9-" } });
  await see("/files/{id}/{n}", file.url.slice(harness.url.length));
  await see(one, at, { method: "DELETE", key: harness.addCaller({ scope: "read" }) });
  await see(one, at, { method: "DELETE" });
  await see(one, at, { method: "DELETE" });
  await post("bytes");
  const again = (await (await harness.call("/v1/files")).json()) as { data: { id: string }[] };
  harness.uploads.use();
  await see(one, `/v1/files/${again.data[0]?.id}`, { method: "DELETE" });
};

/** Requests the event streams: their beginning, an end, positions and errors. */
const seeStreams = async (
  harness: Harness,
  see: See,
  [done, queued]: readonly [string, string],
  others: readonly (string | null)[],
): Promise<void> => {
  const stream = "/v1/generations/{id}/events";
  for (const id of [done, queued, "gen_x"])
    for (const last of ["", "evt_x_1", "unknown"])
      await see(stream, `/v1/generations/${id}/events`, { headers: { "last-event-id": last } });
  await see(stream, `/v1/generations/${queued}/events`, { method: "HEAD" });
  for (const key of [harness.key, ...others]) {
    await see(stream, `/v1/generations/${queued}/events`, { key });
    await see("/v1/events", "/v1/events", { key });
  }
  for (const query of ["?types=generation.failed", "?types=generation.lost", "?kind=x"])
    await see("/v1/events", `/v1/events${query}`);
};

/** Requests the paths of resumable uploads. */
const seeUploads = async (harness: Harness, see: See): Promise<void> => {
  const [all, one] = ["/v1/files/uploads", "/v1/files/uploads/{id}"];
  const tus = { "tus-resumable": "1.0.0" };
  const create = { method: "POST", headers: { ...tus, "upload-length": "10" } };
  await see(all, all, create);
  for (const headers of [{}, tus, { ...tus, "upload-length": "99999999999" }]) await see(all, all, { method: "POST", headers });
  await see(all, all, { ...create, key: null });
  const at = (await harness.call(all, create)).headers.get("location") ?? "";
  for (const path of [at, `${all}/upl_x`]) {
    await see(one, path);
    await see(one, path, { method: "HEAD", headers: tus });
  }
  const patch = { ...tus, "content-type": "application/offset+octet-stream" };
  for (const headers of [patch, { ...patch, "upload-offset": "3" }, { ...patch, "upload-offset": "0" }, tus])
    await see(one, at, { method: "PATCH", headers, body: "12345" });
  await see(one, at, {
    method: "POST",
    headers: { ...patch, "upload-offset": "5", "x-http-method-override": "PATCH" },
    body: "1",
  });
  await see(one, at, { method: "POST", headers: tus });
  await see(one, at, { method: "DELETE", headers: tus });
  await see(one, at, { method: "DELETE", headers: tus });
  for (const path of [all, one]) await see(path, path.replace("{id}", "upl_x"), { method: "OPTIONS", key: null });
};

const seen = async (harness: Harness): Promise<[path: string, method: string, response: Response][]> => {
  const file = { n: 1, sha256: "ab", bytes: 5, mime: "video/mp4" };
  const done = harness.addRecord({
    status: "succeeded",
    costCredits: 1,
    completedAtMs: 1,
    output: { kind: "video", files: [file, { ...file, n: 2 }], width: 2, height: 2, durationMs: 4000, hasAudio: true },
  });
  for (const n of [1, 2]) await keepFile(harness.files, done.id, n, Buffer.from("hello"));
  const queued = harness.addRecord();
  const paused = harness.addCaller({ paused: true });
  const burst = harness.addCaller({ burstPerS: 1 });
  const list: [string, string, Response][] = [];
  const see = async (path: string, at: string, init: Parameters<Harness["call"]>[1] = {}) => {
    const method = (init.method ?? "GET").toLowerCase();
    // HEAD is described by GET, unless the path describes it.
    list.push([path, method === "head" && !paths[path]?.head ? "get" : method, await harness.call(at, init)]);
  };
  const link = harness.links.sign(done.id, 1).slice(harness.url.length);
  const gen = "/v1/generations/{id}";
  harness.setModels([{ id: "listed" } as ModelEntry]);
  for (const [path, at] of [
    [gen, `/v1/generations/${done.id}`],
    [`${gen}/content`, `/v1/generations/${done.id}/content`],
    [`${gen}/content/{n}`, `/v1/generations/${done.id}/content/2`],
    ["/files/{id}/{n}", link],
    ["/v1/models", "/v1/models"],
    ["/v1/models/{id}", "/v1/models/listed"],
    ["/v1/models/{id}", "/v1/models/down"],
    ["/v1/models/{id}", "/v1/models/unknown"],
    ["/v1/models/{id}/schema", "/v1/models/listed/schema"],
    ["/v1/models/{id}/schema", "/v1/models/unknown/schema"],
    ["/models.json", "/models.json"],
    ["/openapi.json", "/openapi.json"],
    ["/healthz", "/healthz"],
    ["/readyz", "/readyz"],
  ] as const) {
    await see(path, at);
    const etag = list.at(-1)?.[2].headers.get("etag");
    if (etag) await see(path, at, { headers: { "if-none-match": etag } });
    if (path.includes("content") || path.startsWith("/files")) {
      await see(path, at, { headers: { range: "bytes=0-1" } });
      await see(path, at, { headers: { range: "bytes=9-" } });
      await see(path, at.replace(done.id, "gen_00000000000000000000z"));
      await see(path, at.replace(done.id, queued.id));
    }
    if (path.startsWith(gen)) for (const key of [null, paused, burst, burst]) await see(path, at, { key });
  }
  for (const path of ["/v1/models", "/models.json", "/openapi.json", "/v1/models/{id}", "/v1/models/{id}/schema"])
    await see(path, path.replace("{id}", "listed"), { method: "OPTIONS" });
  const post = (body: string, key: string | null = harness.key) =>
    see("/v1/generations", "/v1/generations", { method: "POST", body, key });
  for (const query of ["", "?limit=1", "?after=unknown", "?colour=red"]) await see("/v1/generations", `/v1/generations${query}`);
  const limited = harness.addCaller({ isLimited: true });
  for (const path of ["/v1/balance", "/v1/usage", "/v1/ledger"]) {
    for (const key of [harness.key, limited, null, paused]) await see(path, path, { key });
    await see(path, `${path}?colour=red`);
  }
  await seeStreams(harness, see, [done.id, queued.id], [limited, null, paused]);
  await see("/v1/ledger", "/v1/ledger", { headers: { accept: "text/csv" } });
  await see("/v1/usage", "/v1/usage?group_by=end_user&limit=1");
  for (const query of ["", "?limit=1", "?after=unknown"]) await see("/v1/end_users", `/v1/end_users${query}`);
  const endUser = "/v1/end_users/{id}";
  for (const id of ["ada", "unknown", "%0A"])
    for (const [method, body] of [["GET"], ["PUT", '{"limit_usd":5,"window":"day"}'], ["PUT", "{}"], ["DELETE"]] as const)
      await see(endUser, endUser.replace("{id}", id), { method, ...(body === undefined ? {} : { body }) });
  for (const key of [limited, null, paused]) await see(endUser, "/v1/end_users/ada", { key });
  for (const body of ['{"model":"m","input":{}}', '{"model":"unknown","input":{}}', "{"])
    await see("/v1/quotes", "/v1/quotes", { method: "POST", body, key: harness.addCaller({ scope: "read" }) });
  for (const body of ['{"model":"m","input":{}}', '{"model":"unknown","input":{}}', "{", "x".repeat(1_048_577)]) await post(body);
  for (const key of [null, paused, harness.addCaller({ scope: "read" }), burst]) await post("{}", key);
  await seeFiles(harness, see);
  await seeUploads(harness, see);
  harness.setReadiness({ ready: false, faults: ["x"] });
  await see("/readyz", "/readyz");
  harness.setStoreOpen(false);
  await post("{}");
  await see("/files/{id}/{n}", link);
  return list;
};

test("describes every status, content type, error code and header that the server returns", async () => {
  await using harness = await openHarness();
  const list = await seen(harness);
  for (const [path, method, response] of list) {
    const place = `${method} ${path} ${response.status}`;
    const described = paths[path]?.[method]?.responses[String(response.status)];
    if (described === undefined) throw new Error(`${place} is not described`);
    const headers = Object.keys(described.headers ?? {}).map((name) => name.toLowerCase());
    for (const [name] of response.headers)
      if (!BY_THE_RUNTIME.includes(name) && !headers.includes(name)) throw new Error(`${place}: header ${name} is not described`);
    const text = await response.text();
    const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
    if (text === "" || type === "") continue;
    if (described.content?.[type] === undefined) throw new Error(`${place}: ${type} is not described`);
    if (response.status < 400) continue;
    const { error } = JSON.parse(text) as { error: { code: string } };
    if ((described.content[type]?.examples as JsonObject)?.[error.code] === undefined)
      throw new Error(`${place}: code ${error.code} is not described`);
  }
  expect(new Set(list.map(([, , response]) => response.status))).toEqual(
    new Set([200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 409, 412, 413, 415, 416, 422, 429, 503]),
  );
});
