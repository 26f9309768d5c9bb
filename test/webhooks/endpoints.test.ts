// Webhook endpoints, secrets and deliveries over the API, as openapi.json describes them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deliveryId, hashApiKey, newApiKey, newDeliveryToken, newId } from "../../src/domain/ids.ts";
import type { JsonObject, KeyScope } from "../../src/domain/types.ts";
import { undescribed } from "../api/described.ts";
import { codeOf, messageOf } from "../api/harness.ts";
import type { Tenant } from "../harness.ts";
import { openWebhooks, PROMPT, type WebhookScene } from "./fixture.ts";
import { isVerified } from "./receiver.ts";

const PUBLIC = "https://example.com/hook";
let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhooks({ onResponse: (answer) => expect(undescribed(answer)).toEqual([]) });
});
afterAll(async () => {
  await scene.receiver.stop();
  await scene.close();
});

const create = (body: unknown, { key }: Tenant = scene.tenant) => scene.request("POST", "/v1/webhook_endpoints", { body, key });

test.each([
  ["no URL", {}, "url: is required"],
  ["a text that is no URL", { url: "not a url" }, "url: it is not a URL"],
  ["http", { url: "http://example.com/" }, "url: only https URLs are opened"],
  ["another port", { url: "https://example.com:8443/" }, "url: only port 443 is opened"],
  ["a user name", { url: "https://ada@example.com/" }, "url: a URL with a user name"],
  ["a private address", { url: "https://10.0.0.1/" }, "url: its host has no public address"],
  ["a private address in octal", { url: "https://012.0.0.1:443/" }, "url: its host has no public address"],
  ["the address of cloud metadata", { url: "https://169.254.169.254/" }, "url: its host has no public address"],
  ["a URL that is too long", { url: `https://example.com/${"x".repeat(2048)}` }, "url: must be a text of at most 2048"],
  [
    "a URL that is too long when it is percent-encoded",
    { url: `https://example.com/${"é".repeat(1000)}` },
    "url: it has more than 2048",
  ],
  ["a control character", { url: "https://example.com/\u0000" }, "url: contains a control character"],
  ["an unknown event", { url: PUBLIC, events: ["generation.done"] }, "events: must be a list of generation.running"],
  ["no event", { url: PUBLIC, events: [] }, "events: must be a list"],
  ["an unknown field", { url: PUBLIC, secret: "x" }, '"secret": unknown; the fields are url, events, description, enabled'],
  ["a long description", { url: PUBLIC, description: "x".repeat(501) }, "description: must be a text of at most 500"],
  ["an array", [], "The body must be a JSON object"],
])("refuses an endpoint with %s", async (_name, body, message) => {
  const refused = await create(body);
  expect([refused.status, codeOf(refused)]).toEqual([400, "invalid_request"]);
  expect(messageOf(refused)).toContain(message);
});

test("creates, reads, changes and deletes an endpoint, and returns its secret only once", async () => {
  const tenant = await scene.newTenant();
  const made = await create({ url: PUBLIC, events: ["generation.failed", "generation.failed"], description: "prod" }, tenant);
  expect(made.status).toBe(201);
  const { secret, ...shown } = made.body;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(shown).toMatchObject({ url: PUBLIC, events: ["generation.failed"], description: "prod", enabled: true });
  const path = `/v1/webhook_endpoints/${shown.id}`;
  const ask = (method: string, body?: JsonObject) =>
    scene.request(method, path, { key: tenant.key, ...(body === undefined ? {} : { body }) });
  expect((await ask("GET")).body).toEqual(shown);
  expect(await scene.endpoints(tenant)).toEqual([shown] as never);
  const changed = await ask("PATCH", { events: ["*"], enabled: false });
  expect(changed.body).toEqual({ ...shown, events: ["*"], enabled: false });
  expect((await ask("PATCH", { url: "http://10.0.0.1" })).status).toBe(400);
  expect((await ask("DELETE")).body).toEqual({ id: shown.id ?? "", object: "webhook_endpoint", deleted: true });
  for (const method of ["GET", "DELETE"]) expect((await ask(method)).status).toBe(404);
  expect((await ask("PATCH", {})).status).toBe(404);
});

test("stores the normalized form of a URL", async () => {
  const tenant = await scene.newTenant();
  const { id, url } = await scene.endpoint({ url: "HTTPS://bücher.Example.:443/a b/../c?q=ü" }, tenant);
  expect(url).toBe("https://xn--bcher-kva.example/c?q=%C3%BC");
  const path = `/v1/webhook_endpoints/${id}`;
  const changed = await scene.request("PATCH", path, { key: tenant.key, body: { url: "https://EXAMPLE.com" } });
  expect(changed.body.url).toBe("https://example.com/");
});

test("returns 404 for endpoints and deliveries of another account, and for malformed ids", async () => {
  const other = await scene.newTenant();
  const { id } = await scene.endpoint({}, other);
  const sent = await scene.post(`/v1/webhook_endpoints/${id}/test`, undefined, other);
  expect(sent.status).toBe(202);
  for (const path of [
    ...["test", "rotate_secret", `recover?since=${new Date(0).toISOString()}`].map(
      (what) => `/v1/webhook_endpoints/${id}/${what}`,
    ),
    ...[String(sent.body.id), `${String(sent.body.id).slice(0, -1)}0`, "x"].map(
      (one) => `/v1/webhook_deliveries/${one}/redeliver`,
    ),
  ])
    expect([path, (await scene.post(path)).status]).toEqual([path, 404]);
  expect((await scene.request("GET", `/v1/webhook_endpoints/${id}`)).status).toBe(404);
});

describe("a key", () => {
  const READS = ["/v1/webhook_endpoints", "/v1/webhook_endpoints/:id", "/v1/webhook_deliveries"];
  const CHANGES: readonly (readonly [method: string, path: string])[] = [
    ["POST", "/v1/webhook_endpoints"],
    ["PATCH", "/v1/webhook_endpoints/:id"],
    ["DELETE", "/v1/webhook_endpoints/:id"],
    ["POST", "/v1/webhook_endpoints/:id/rotate_secret"],
    ["POST", "/v1/webhook_endpoints/:id/test"],
    ["POST", `/v1/webhook_endpoints/:id/recover?since=${new Date(0).toISOString()}`],
    ["GET", "/v1/webhook_secret"],
    ["POST", "/v1/webhook_secret"],
    ["POST", "/v1/webhook_deliveries/:delivery/redeliver"],
  ];
  /** An account with an endpoint and a delivery, and a second key of it. */
  const withKey = async (scope: KeyScope) => {
    const tenant = await scene.newTenant();
    const { id } = await scene.endpoint({}, tenant);
    const delivery = (await scene.post(`/v1/webhook_endpoints/${id}/test`, undefined, tenant)).body.id;
    const [key, keyId, atMs] = [newApiKey("test"), newId("key"), scene.clock.nowMs()];
    const stored = { hash: hashApiKey(key), start: key.slice(0, 12), atMs };
    await scene.components.post({
      mutation: "create-key",
      ...{ id: keyId, accountSeq: tenant.accountSeq, scope, name: "", ...stored },
    });
    const ask = async (method: string, path: string) => {
      const body = method === "GET" || method === "DELETE" ? {} : { body: { url: PUBLIC } };
      return await scene.request(method, path.replace(":id", id).replace(":delivery", String(delivery)), { key, ...body });
    };
    return { keyId, ask };
  };
  const forbidden = async ({ ask }: Awaited<ReturnType<typeof withKey>>, requests: typeof CHANGES) => {
    for (const [method, path] of requests) {
      const refused = await ask(method, path);
      expect([method, path, refused.status, codeOf(refused)]).toEqual([method, path, 403, "generation_not_enabled"]);
    }
  };

  test("that only reads reads endpoints and deliveries, changes nothing, and gets no secret", async () => {
    const reading = await withKey("read");
    for (const path of READS) {
      const { status, text } = await reading.ask("GET", path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain("whsec_");
    }
    await forbidden(reading, CHANGES);
  });

  test.each(["generate", "read"] as const)("of the scope %s with a spend limit or a model allowlist gets 403", async (scope) => {
    const all = [...READS.map((path) => ["GET", path] as const), ...CHANGES] as const;
    const limited = await withKey(scope);
    const restricted = await withKey(scope);
    const none = { day: null, week: null, month: null };
    const set = { mutation: "set-key", atMs: scene.clock.nowMs() } as const;
    await scene.components.post({ ...set, keyId: limited.keyId, limits: { ...none, day: 5 } });
    await scene.components.post({ ...set, keyId: restricted.keyId, models: ["sim-image-1"] });
    for (const one of [limited, restricted]) await forbidden(one, all);
  });
});

test("refuses the 21st endpoint of an account with 409", async () => {
  const tenant = await scene.newTenant();
  for (let n = 0; n < 20; n += 1) expect((await create({ url: `${PUBLIC}/${n}` }, tenant)).status).toBe(201);
  const refused = await create({ url: PUBLIC }, tenant);
  expect([refused.status, codeOf(refused)]).toEqual([409, "invalid_request"]);
  expect(messageOf(refused)).toContain("at most 20 webhook endpoints");
});

test("signs with the new and the previous secret until the overlap ends", async () => {
  const { id, secret: former } = await scene.endpoint();
  const sent = async () => {
    const before = scene.receiver.received.length;
    expect((await scene.post(`/v1/webhook_endpoints/${id}/test`)).status).toBe(202);
    return await scene.eventually(() => scene.receiver.received[before]);
  };
  const rotated = await scene.post(`/v1/webhook_endpoints/${id}/rotate_secret`, { overlap_s: 3600 });
  const next = String(rotated.body.secret);
  expect(next).not.toBe(former);
  const during = await sent();
  expect([isVerified(during, former), isVerified(during, next)]).toEqual([true, true]);
  scene.clock.skip(3_600_000);
  const after = await sent();
  expect([isVerified(after, former), isVerified(after, next)]).toEqual([false, true]);
  expect((await scene.post(`/v1/webhook_endpoints/${id}/rotate_secret`, { overlap_s: 86_401 })).status).toBe(400);
  await scene.request("DELETE", `/v1/webhook_endpoints/${id}`);
});

test("rotates the default secret of an account, and keeps it otherwise", async () => {
  const tenant = await scene.newTenant();
  const read = () => scene.request("GET", "/v1/webhook_secret", { key: tenant.key });
  const first = await read();
  expect((await read()).body).toEqual(first.body);
  const rotated = await scene.post("/v1/webhook_secret", undefined, tenant);
  expect(rotated.body.secret).not.toBe(first.body.secret ?? "");
  expect((await read()).body).toEqual(rotated.body);
  expect(rotated.body.previous_secret_until).toEqual(expect.any(String));
});

test("lists deliveries in pages by cursor, and refuses a wrong cursor or limit", async () => {
  const tenant = await scene.newTenant();
  const { id } = await scene.endpoint({}, tenant);
  for (let n = 0; n < 5; n += 1) await scene.post(`/v1/webhook_endpoints/${id}/test`, undefined, tenant);
  const all = (await scene.deliveries(tenant)).map((one) => one.id);
  const paged: string[] = [];
  for (let next: string | null = ""; next !== null; ) {
    const { body } = await scene.request("GET", `/v1/webhook_deliveries?limit=2${next === "" ? "" : `&after=${next}`}`, {
      key: tenant.key,
    });
    paged.push(...(body.data as { id: string }[]).map((one) => one.id));
    expect(body.has_more).toBe(body.next !== null);
    next = body.next as string | null;
  }
  expect(paged).toEqual(all);
  expect(all).toHaveLength(5);
  for (const query of ["limit=0", "limit=101", "limit=x"])
    expect((await scene.request("GET", `/v1/webhook_deliveries?${query}`)).status).toBe(400);
  const [newest = ""] = all;
  const altered = `${newest.slice(0, -1)}${newest.endsWith("0") ? "1" : "0"}`;
  for (const [key, after] of [
    [tenant.key, "whd_x"],
    [tenant.key, altered],
    [tenant.key, deliveryId(1, newDeliveryToken())],
    [scene.tenant.key, newest],
  ] as const) {
    const refused = await scene.request("GET", `/v1/webhook_deliveries?after=${after}`, { key });
    expect([refused.status, messageOf(refused)]).toEqual([400, "after: no webhook delivery with this id on the account."]);
  }
});

test("limits tests, redeliveries and recoveries to 10 per account and minute", async () => {
  const tenant = await scene.newTenant();
  const { id } = await scene.endpoint({}, tenant);
  const statuses: number[] = [];
  for (let n = 0; n < 11; n += 1) {
    const path = n % 2 === 0 ? "test" : `recover?since=${new Date(scene.clock.nowMs()).toISOString()}`;
    statuses.push((await scene.post(`/v1/webhook_endpoints/${id}/${path}`, undefined, tenant)).status);
  }
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(202));
  expect(statuses[10]).toBe(429);
  expect((await scene.post(`/v1/webhook_endpoints/${id}/recover`, undefined, await scene.newTenant())).status).toBe(400);
});

test("sends a delivered event again with the same id", async () => {
  const tenant = await scene.newTenant();
  await scene.endpoint({ events: ["generation.succeeded"] }, tenant);
  await scene.generate(PROMPT, tenant);
  const [delivery] = await scene.settled(tenant);
  const again = await scene.post(`/v1/webhook_deliveries/${delivery?.id}/redeliver`, undefined, tenant);
  expect([again.status, again.body.state]).toEqual([202, "pending"]);
  const sent = await scene.eventually(async () => {
    const [one] = await scene.deliveries(tenant);
    return one?.tries.length === 2 && one;
  });
  expect(sent.state).toBe("delivered");
  const [first, second] = scene.receiver.received.filter(({ body }) => body.data.id === sent.generation);
  expect(second?.id).toBe(first?.id ?? "");
});

test.each([
  ["http://example.com/", "only https URLs are opened"],
  ["https://192.168.0.1/", "its host has no public address"],
  ["nonsense", "it is not a URL"],
])("refuses a submission that names the address %s, and holds nothing", async (url, why) => {
  const before = await scene.balance();
  const refused = await scene.request("POST", "/v1/generations", {
    headers: { "genrouter-webhook": url },
    body: { model: "sim-image-1", input: { prompt: PROMPT } },
  });
  expect([refused.status, messageOf(refused)]).toEqual([400, `Genrouter-Webhook: ${why}; send a public https URL.`]);
  expect(await scene.balance()).toEqual(before);
});

test("treats requests as the same that differ in the header only, and keeps the address of the first", async () => {
  const tenant = await scene.newTenant();
  const submit = (webhook: string) =>
    scene.request("POST", "/v1/generations", {
      key: tenant.key,
      headers: { "idempotency-key": "k", "genrouter-webhook": webhook },
      body: { model: "sim-image-1", input: { prompt: PROMPT } },
    });
  const first = await submit(`${scene.receiver.url}/first`);
  const second = await submit(`${scene.receiver.url}/second`);
  expect([first.status, second.status, second.body.id]).toEqual([202, 200, first.body.id ?? ""]);
  await scene.until(String(first.body.id), undefined, tenant.key);
  await scene.settled(tenant);
  const paths = scene.receiver.received.filter(({ body }) => body.data.id === first.body.id).map(({ path }) => path);
  expect(new Set(paths)).toEqual(new Set(["/first"]));
});
