// Webhooks in the console: endpoints, secrets, deliveries and their roles, with the rules of the API.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type {
  CreatedEndpointDto,
  DeliveriesPage,
  DeliveryDto,
  DeliveryRequestDto,
  SecretDto,
  WebhooksPage,
} from "../../src/console/webhooks-dto.ts";
import type { Tenant } from "../harness.ts";
import { openWebhooks, type WebhookScene } from "../webhooks/fixture.ts";
import { isVerified } from "../webhooks/receiver.ts";
import { askConsole, openVisitor, type Reply, type Visitor } from "./signed-in.ts";

const PATH = "/console/api/webhooks";
const DELIVERIES = "/console/api/webhook-deliveries";
const SECRET = "/console/api/webhook-secret";
const PUBLIC = "https://example.com/hook";
let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhooks();
});
afterAll(async () => {
  await scene.receiver.stop();
  await scene.close();
});

const openMember = async (): Promise<{ tenant: Tenant; who: Visitor }> => {
  const tenant = await scene.newTenant();
  return { tenant, who: await openVisitor(scene, "member", tenant) };
};
const ok = async <T>(who: Visitor, method: string, path: string, body?: unknown): Promise<T> => {
  const { status, reported, text } = await who.ask(method, path, body);
  if (status !== 200) throw new Error(`${method} ${path} was answered ${status} ${text}`);
  return reported as T;
};
const errorOf = ({ status, reported }: Reply) => [status, (reported.error as { code?: string } | undefined)?.code];
const messageOf = ({ reported }: Reply): string => String((reported.error as { message?: string } | undefined)?.message);
const create = (who: Visitor, fields: object = {}, query = "") =>
  ok<CreatedEndpointDto>(who, "POST", `${PATH}${query}`, { url: scene.receiver.url, ...fields });
const ended = (who: Visitor, id: string) =>
  scene.eventually(async () => {
    const row = await ok<DeliveryDto>(who, "GET", `${DELIVERIES}/${id}`);
    return row.state !== "pending" && row;
  }, "the delivery");

test("creates, lists, changes, disables and deletes an endpoint, which the API shows, too", async () => {
  const { who, tenant } = await openMember();
  const { endpoint, secret } = await create(who, { url: PUBLIC, events: ["generation.failed"], description: "prod" });
  expect(secret).toMatch(/^whsec_/);
  expect(endpoint).toMatchObject({ url: PUBLIC, events: ["generation.failed"], enabled: true, disabledReason: null });
  expect(await ok<WebhooksPage>(who, "GET", PATH)).toMatchObject({ endpoints: [endpoint], mayChange: true });
  expect((await scene.endpoints(tenant)).map(({ id }) => id)).toEqual([endpoint.id]);
  const changed = await ok(who, "PATCH", `${PATH}/${endpoint.id}`, { enabled: false, events: ["*"] });
  expect(changed).toEqual({ ...endpoint, enabled: false, events: ["*"] } as never);
  await ok(who, "DELETE", `${PATH}/${endpoint.id}`);
  expect(await scene.endpoints(tenant)).toEqual([]);
  expect(errorOf(await who.ask("PATCH", `${PATH}/${endpoint.id}`, { enabled: true }))).toEqual([404, "not_found"]);
});

test.each([
  ["no URL", {}],
  ["a private address", { url: "https://10.0.0.1/" }],
  ["an unknown event", { url: PUBLIC, events: ["generation.done"] }],
  ["an unknown field", { url: PUBLIC, secret: "x" }],
  ["a control character", { url: PUBLIC, description: "a\u0000" }],
] as const)("refuses an endpoint with %s like the API", async (_, body) => {
  const { who, tenant } = await openMember();
  const refused = await who.ask("POST", PATH, body);
  const byKey = await scene.post("/v1/webhook_endpoints", body as never, tenant);
  const { error } = byKey.body as { error: { code: string; message: string } };
  expect([...errorOf(refused), messageOf(refused)]).toEqual([byKey.status, error.code, error.message]);
  expect(byKey.status).toBe(400);
});

test("reveals and rotates the secret of an endpoint and of the account, and both secrets sign until the overlap ends", async () => {
  const { who, tenant } = await openMember();
  const { endpoint, secret: former } = await create(who);
  const path = `${PATH}/${endpoint.id}`;
  expect(await ok<SecretDto>(who, "POST", `${path}/secret`)).toEqual({ secret: former, previousUntilMs: null });
  expect(errorOf(await who.ask("POST", `${path}/rotate`, { overlap_s: 86_401 }))).toEqual([400, "invalid_request"]);
  const { secret, previousUntilMs } = await ok<SecretDto>(who, "POST", `${path}/rotate`, { overlap_s: 3600 });
  expect(secret).not.toBe(former);
  expect(previousUntilMs).toBeGreaterThan(scene.clock.nowMs());
  const before = scene.receiver.received.length;
  await ok(who, "POST", `${path}/test`);
  const sent = await scene.eventually(() => scene.receiver.received[before], "the test event");
  expect([isVerified(sent, former), isVerified(sent, secret)]).toEqual([true, true]);
  const ofAccount = await ok<SecretDto>(who, "POST", SECRET);
  expect((await scene.request("GET", "/v1/webhook_secret", { key: tenant.key })).body.secret).toBe(ofAccount.secret);
  expect((await ok<SecretDto>(who, "POST", `${SECRET}/rotate`, {})).secret).not.toBe(ofAccount.secret);
});

test("lists deliveries with their tries in pages, sends one again, and recovers those that failed", async () => {
  const { who } = await openMember();
  const { endpoint } = await create(who);
  scene.receiver.answer(() => new Response("no", { status: 500 }));
  const { id } = await ok<DeliveryDto>(who, "POST", `${PATH}/${endpoint.id}/test`);
  const tried = await scene.eventually(async () => {
    const row = await ok<DeliveryDto>(who, "GET", `${DELIVERIES}/${id}`);
    return row.tries.length > 0 && row;
  }, "the first try");
  expect(tried).toMatchObject({
    state: "pending",
    type: "webhook.test",
    endpointId: endpoint.id,
    tries: [{ status: 500, error: null }],
  });
  expect((await ok<WebhooksPage>(who, "GET", PATH)).endpoints[0]?.lastFailureAtMs).not.toBeNull();
  scene.receiver.answer(() => new Response("ok"));
  expect(await ok<object>(who, "POST", `${PATH}/${endpoint.id}/recover`, { sinceMs: 0 })).toEqual({
    ...{ deliveries: 1, next: null },
  });
  const delivered = await ended(who, id);
  expect([delivered.state, delivered.nextTryAtMs, delivered.tries.at(-1)?.status]).toEqual(["delivered", null, 200]);
  await ok(who, "POST", `${DELIVERIES}/${id}/redeliver`);
  const again = await scene.eventually(async () => {
    const row = await ended(who, id);
    return row.tries.length > delivered.tries.length && row;
  }, "the redelivery");
  expect(again.state).toBe("delivered");
  for (const sinceMs of [-1, 1.5, "now"])
    expect(errorOf(await who.ask("POST", `${PATH}/${endpoint.id}/recover`, { sinceMs }))).toEqual([400, "invalid"]);
});

test("shows the states of the last 10 deliveries of each endpoint, and the request of a delivery as it was sent", async () => {
  const { who, tenant } = await openMember();
  const { endpoint } = await create(who, { url: `${scene.receiver.url}/shown` });
  const { endpoint: quiet } = await create(who, { url: PUBLIC, events: ["credits.low"] });
  scene.clock.skip(61_000);
  scene.receiver.answer(() => new Response("ok"));
  for (let n = 0; n < 9; n += 1) await ended(who, (await ok<DeliveryDto>(who, "POST", `${PATH}/${endpoint.id}/test`)).id);
  const id = await scene.generate("a kite", tenant);
  const about = await scene.eventually(async () => {
    const { deliveries } = await ok<DeliveriesPage>(who, "GET", DELIVERIES);
    const ofEnd = deliveries.find((row) => row.generationId === id && row.type === "generation.succeeded");
    return deliveries.every(({ state }) => state !== "pending") && ofEnd;
  }, "the deliveries");
  const { outcomes } = await ok<WebhooksPage>(who, "GET", PATH);
  expect(outcomes[endpoint.id]).toHaveLength(10);
  expect(outcomes[endpoint.id]?.filter((state) => state === "delivered").length).toBeGreaterThan(8);
  expect(outcomes[quiet.id]).toBeUndefined();
  const shown = await ok<DeliveryRequestDto>(who, "GET", `${DELIVERIES}/${about.id}/request`);
  const sent = scene.receiver.received.find((one) => one.path === "/shown" && one.body.type === "generation.succeeded");
  expect(shown.id).toBe(sent?.id ?? "");
  // Links of files are signed again, so they differ in their time and signature.
  const unsigned = (body = ""): string => body.replaceAll(/\?[^"]*/g, "");
  expect(unsigned(shown.body)).toBe(unsigned(sent?.text));
  expect(JSON.parse(shown.body)).toMatchObject({ type: "generation.succeeded", data: { id } });
  const viewer = await openVisitor(scene, "viewer", null);
  await ok(viewer, "GET", `${DELIVERIES}/${about.id}/request?account=${tenant.accountId}`);
  await scene.eventually(
    async () => (await viewer.ask("GET", "/console/api/operator/audit?action=note-look")).text.includes(id),
    "the audit entry of the look",
  );
});

test("pages of deliveries follow a cursor, and a malformed one is refused", async () => {
  const { who } = await openMember();
  const { endpoint } = await create(who);
  // The limit of the API counts requests of the console, too.
  const ids: string[] = [];
  for (let n = 0; n < 26; n += 1) {
    if (n % 10 === 0) scene.clock.skip(61_000);
    ids.unshift((await ok<DeliveryDto>(who, "POST", `${PATH}/${endpoint.id}/test`)).id);
  }
  const first = await ok<DeliveriesPage>(who, "GET", DELIVERIES);
  const second = await ok<DeliveriesPage>(who, "GET", `${DELIVERIES}?after=${first.next}`);
  expect([...first.deliveries, ...second.deliveries].map(({ id }) => id)).toEqual(ids);
  expect([first.deliveries.length, second.next]).toEqual([25, null]);
  expect(errorOf(await who.ask("GET", `${DELIVERIES}?after=x`))).toEqual([400, "invalid_request"]);
});

test("counts test events of the console and of the API against one limit", async () => {
  const { who, tenant } = await openMember();
  const { endpoint } = await create(who);
  scene.clock.skip(61_000);
  for (let n = 0; n < 5; n += 1) {
    await ok(who, "POST", `${PATH}/${endpoint.id}/test`);
    expect((await scene.post(`/v1/webhook_endpoints/${endpoint.id}/test`, undefined, tenant)).status).toBe(202);
  }
  expect(errorOf(await who.ask("POST", `${PATH}/${endpoint.id}/test`))).toEqual([429, "rate_limited"]);
});

test("returns 404 to members for endpoints, secrets and deliveries of another account", async () => {
  const { who: owner, tenant } = await openMember();
  const { who } = await openMember();
  const { endpoint } = await create(owner);
  const { id } = await ok<DeliveryDto>(owner, "POST", `${PATH}/${endpoint.id}/test`);
  const there = `?account=${tenant.accountId}`;
  const requests: [string, string, object?][] = [
    ["GET", PATH],
    ["GET", DELIVERIES],
    ["POST", PATH, { url: PUBLIC }],
    ["PATCH", `${PATH}/${endpoint.id}`, { enabled: false }],
    ["DELETE", `${PATH}/${endpoint.id}`],
    ...["secret", "test"].map((what): [string, string] => ["POST", `${PATH}/${endpoint.id}/${what}`]),
    ["POST", `${PATH}/${endpoint.id}/rotate`, {}],
    ["POST", `${PATH}/${endpoint.id}/recover`, { sinceMs: 0 }],
    ["GET", `${DELIVERIES}/${id}`],
    ["GET", `${DELIVERIES}/${id}/request`],
    ["POST", `${DELIVERIES}/${id}/redeliver`],
    ["POST", SECRET],
    ["POST", `${SECRET}/rotate`, {}],
  ];
  for (const [method, path, body] of requests) {
    const foreign = await who.ask(method, `${path}${there}`, body);
    expect([method, path, ...errorOf(foreign)]).toEqual([method, path, 404, "not_found"]);
    if (!path.includes(endpoint.id) && !path.includes(id)) continue;
    const guessed = await who.ask(method, path, body);
    expect([method, path, ...errorOf(guessed)]).toEqual([method, path, 404, "not_found"]);
  }
  expect((await scene.endpoints(tenant)).map(({ enabled }) => enabled)).toEqual([true]);
});

test("viewers read endpoints and deliveries and change nothing, and changes of operators name them in the audit log", async () => {
  const { who: owner, tenant } = await openMember();
  const { endpoint } = await create(owner);
  const viewer = await openVisitor(scene, "viewer", null);
  const operator = await openVisitor(scene, "operator", null);
  const there = `?account=${tenant.accountId}`;
  expect(await ok<WebhooksPage>(viewer, "GET", `${PATH}${there}`)).toMatchObject({ endpoints: [endpoint], mayChange: false });
  await ok(viewer, "GET", `${DELIVERIES}${there}`);
  for (const [method, path, body] of [
    ["POST", PATH, { url: PUBLIC }],
    ["PATCH", `${PATH}/${endpoint.id}`, { enabled: false }],
    ["POST", `${PATH}/${endpoint.id}/secret`],
    ["POST", SECRET],
    ["DELETE", `${PATH}/${endpoint.id}`],
  ] as const)
    expect([path, ...errorOf(await viewer.ask(method, `${path}${there}`, body))]).toEqual([path, 403, "forbidden"]);
  await ok(operator, "PATCH", `${PATH}/${endpoint.id}${there}`, { description: "by support" });
  await ok(operator, "POST", `${PATH}/${endpoint.id}/secret${there}`);
  await ok(owner, "PATCH", `${PATH}/${endpoint.id}`, { description: "by the account" });
  await scene.eventually(async () => {
    const changes = (await operator.ask("GET", "/console/api/operator/audit?action=set-webhook-endpoint")).text;
    const looks = (await operator.ask("GET", "/console/api/operator/audit?action=note-look")).text;
    return (
      changes.includes(operator.userId) &&
      changes.includes(owner.userId) &&
      looks.includes('"webhook secret"') &&
      looks.includes(endpoint.id)
    );
  }, "the audit entries");
});

test("refuses changes without the CSRF token, from another origin and signed out", async () => {
  const { who, tenant } = await openMember();
  const body = { url: PUBLIC };
  expect(errorOf(await who.ask("POST", PATH, body, { "x-csrf-token": "x" }))).toEqual([403, "csrf"]);
  expect(errorOf(await who.ask("POST", PATH, body, { origin: "https://elsewhere.example" }))).toEqual([403, "csrf"]);
  expect(errorOf(await askConsole(scene, ["POST", PATH, body]))).toEqual([401, "signed_out"]);
  expect(errorOf(await who.ask("POST", SECRET, undefined, { "x-csrf-token": "x" }))).toEqual([403, "csrf"]);
  expect(await scene.endpoints(tenant)).toEqual([]);
});
