// The event stream of an account: webhook events with and without endpoints, filters, and positions that lose and repeat nothing.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newReference } from "../../src/admin/request-reference.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { nodesAsked } from "../api-multi-node/request.ts";
import type { Harness, Tenant } from "../harness.ts";
import { BUYER } from "../store/purchases.ts";
import { openReceiver, type Receiver } from "../webhooks/receiver.ts";
import { type EventReader, readEvents, type Sent } from "./event-reader.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

const MODEL = "vidmodel-2.0-fast";
const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
const SOON = "sim-image-1";

let harness: Harness;
let receiver: Receiver;
beforeAll(async () => {
  receiver = openReceiver();
  // Over several nodes, a start may be committed up to a minute after later ones. A fast clock makes this a short time on a busy machine.
  const factor = nodesAsked() > 1 ? 30 : 100;
  harness = await openApiHarness({ factor, env: { GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1" } });
});
afterAll(async () => {
  await harness.close();
  await receiver.stop();
});

const read = ({ key }: Tenant, more: { after?: string | undefined; query?: string } = {}): Promise<EventReader> =>
  readEvents(`${harness.url}/v1/events${more.query ?? ""}`, { key, after: more.after });
const post = async ({ key }: Tenant, prompt: string, model = SOON): Promise<string> => {
  const input = model === SOON ? { prompt } : { ...INPUT, prompt };
  const { status, body } = await harness.request("POST", "/v1/generations", { key, body: { model, input } });
  expect(status).toBe(202);
  return String(body.id);
};
const untilEnded = (tenant: Tenant, id: string) => harness.until(id, undefined, tenant.key);
const generate = async (tenant: Tenant, prompt = "a kite", model = SOON): Promise<string> => {
  const id = await post(tenant, prompt, model);
  await untilEnded(tenant, id);
  return id;
};
/** The id of the event itself. */
const eventIdOf = ({ id }: Sent): string => id.slice(0, id.indexOf("."));
/** `running gen_…` and so on, for an event of a generation. */
const lineOf = ({ type, data }: Sent): string => `${type.slice("generation.".length)} ${(data.data as JsonObject).id}`;
const linesOf = (...ids: string[]): string[] => ids.flatMap((id) => [`running ${id}`, `succeeded ${id}`]);

describe("an open stream", () => {
  test("sends the events of the account in the form of its webhooks, with the same ids and bodies", async () => {
    const tenant = await harness.newTenant();
    const endpoint = await harness.request("POST", "/v1/webhook_endpoints", { key: tenant.key, body: { url: receiver.url } });
    expect(endpoint.status).toBe(201);
    await harness.synchronize();
    const reader = await read(tenant);
    const id = await generate(tenant);
    await reader.has(2);
    await harness.eventually(() => receiver.received.some(({ body }) => body.type === "generation.succeeded"), "the webhook");
    const end = receiver.received.find(({ body }) => body.type === "generation.succeeded");
    expect(reader.sent.map(lineOf)).toEqual(linesOf(id));
    expect(reader.sent[1]?.data).toEqual(end?.body as never);
    expect(eventIdOf(reader.sent[1] as Sent)).toBe(end?.id as string);
    expect(reader.sent[0]?.data).toMatchObject({ type: "generation.running", data: { id, status: "running", attempts: 1 } });
    await reader.leave();
  });

  test("needs no webhook endpoint, adds nothing to the outbox, and shows no other account", async () => {
    const [tenant, other] = [await harness.newTenant(), await harness.newTenant()];
    const [reader, others] = [await read(tenant), await read(other)];
    const id = await generate(tenant);
    const failed = await generate(tenant, "[sim:fail]");
    const theirs = await generate(other);
    await Promise.all([reader.has(4), others.has(2)]);
    expect(reader.sent.map(lineOf)).toEqual([...linesOf(id), `running ${failed}`, `failed ${failed}`]);
    expect(others.sent.map(lineOf)).toEqual(linesOf(theirs));
    const { body } = await harness.request("GET", "/v1/webhook_deliveries", { key: tenant.key });
    expect(body.data).toEqual([]);
    await Promise.all([reader.leave(), others.leave()]);
  });

  test("sends a paid purchase, and only the types that were requested", async () => {
    const tenant = await harness.newTenant();
    const [purchases, ends] = [
      await read(tenant, { query: "?types=purchase.completed" }),
      await read(tenant, { query: "?types=generation.succeeded,generation.failed" }),
    ];
    const id = await generate(tenant);
    const { checkout } = harness.components;
    const { purchaseId } = await checkout.buy({ accountId: tenant.accountId, by: BUYER, usd: 25 });
    await checkout.endTest(purchaseId, "pay", BUYER);
    const [bought] = await purchases.has(1);
    expect(bought).toMatchObject({
      type: "purchase.completed",
      data: { type: "purchase.completed", sequence: 1, data: { id: purchaseId, object: "purchase", amount_usd: 25 } },
    });
    await ends.has(1);
    expect(ends.sent.map(lineOf)).toEqual([`succeeded ${id}`]);
    expect(purchases.sent).toHaveLength(1);
    await Promise.all([purchases.leave(), ends.leave()]);
  });
});

describe("a low balance", () => {
  const atMs = () => harness.clock.nowMs();
  const setThreshold = async ({ accountSeq }: Tenant, credits: number): Promise<void> => {
    const { kind } = await harness.components.post({ mutation: "set-low-balance", accountSeq, credits, by: BUYER, atMs: atMs() });
    expect(kind).toBe("purchase");
  };
  const adjust = async ({ accountSeq }: Tenant, kind: "topup" | "adjust", credits: number): Promise<void> => {
    const mutation = { mutation: "credit", accountSeq, kind, credits, note: "", reference: null, atMs: atMs() } as const;
    expect((await harness.components.post(mutation)).kind).toBe("done");
  };
  const low = { query: "?types=credits.low" };
  const endpoint = async ({ key }: Tenant): Promise<void> => {
    const body = { url: receiver.url, events: ["credits.low"] };
    expect((await harness.request("POST", "/v1/webhook_endpoints", { key, body })).status).toBe(201);
    await harness.synchronize();
  };
  /** Expects that the webhooks and the stream have the same events: ids and bodies. */
  const sameAsWebhooks = async (reader: EventReader, count: number): Promise<void> => {
    await reader.has(count);
    const ids = reader.sent.map(eventIdOf);
    const received = () => receiver.received.filter(({ id }) => ids.includes(id));
    await harness.eventually(() => received().length === count, "the webhooks");
    const bodies = new Map(received().map(({ id, body }) => [id, body]));
    expect(ids.map((id) => bodies.get(id))).toEqual(reader.sent.map(({ data }) => data) as never);
  };

  test("is sent at the hold that falls below the threshold, with the id and body of the webhook", async () => {
    const tenant = await harness.newTenant(10_000);
    await setThreshold(tenant, 10_000);
    await endpoint(tenant);
    const reader = await read(tenant, low);
    await generate(tenant);
    await generate(tenant);
    await sameAsWebhooks(reader, 1);
    expect(reader.sent[0]?.data).toMatchObject({
      ...{ type: "credits.low", sequence: 2 },
      data: { object: "balance", balance_usd: 100, owed_usd: 0 },
    });
    await reader.leave();
  });

  test("is sent at a withdrawal that leaves a debt, again after the threshold was reached, and never at a repayment", async () => {
    const tenant = await harness.newTenant(1000);
    await setThreshold(tenant, 500);
    await endpoint(tenant);
    const reader = await read(tenant, low);
    await harness.eventually(() => reader.lastId() !== "", "the first position");
    await adjust(tenant, "adjust", -1200);
    await adjust(tenant, "topup", 800);
    await adjust(tenant, "topup", 100);
    await adjust(tenant, "adjust", -300);
    await sameAsWebhooks(reader, 2);
    expect(reader.sent.map(({ data }) => data.data)).toMatchObject([
      { available_usd: 0, owed_usd: 2 },
      { available_usd: 4, owed_usd: 0 },
    ]);
    const resumed = await read(tenant, { ...low, after: reader.sent[0]?.id });
    await resumed.has(1);
    expect(resumed.sent[0]?.data).toEqual(reader.sent[1]?.data as never);
    await Promise.all([reader.leave(), resumed.leave()]);
  });

  test("is not sent without a threshold, and not for a threshold that was raised above the balance", async () => {
    const tenant = await harness.newTenant(1000);
    await setThreshold(tenant, 0);
    const reader = await read(tenant, { query: "?types=credits.low,purchase.completed" });
    await harness.eventually(() => reader.lastId() !== "", "the first position");
    const buy = async (): Promise<void> => {
      const { checkout } = harness.components;
      const { purchaseId } = await checkout.buy({ accountId: tenant.accountId, by: BUYER, usd: 25 });
      await checkout.endTest(purchaseId, "pay", BUYER);
    };
    await adjust(tenant, "adjust", -900);
    await buy();
    await reader.has(1);
    await setThreshold(tenant, 5000);
    await buy();
    await reader.has(2);
    expect(reader.sent.map(({ type }) => type)).toEqual(["purchase.completed", "purchase.completed"]);
    await reader.leave();
  });
});

describe("a client that resumes", () => {
  test("receives what happened while it was not connected, each event once and in order", async () => {
    const tenant = await harness.newTenant();
    const before = await read(tenant);
    const first = await generate(tenant);
    await before.has(2);
    await before.leave();
    const missed = [await generate(tenant), await generate(tenant, "a kite", MODEL)];
    const after = await read(tenant, { after: before.lastId() });
    const last = await generate(tenant);
    await after.has(6);
    expect([...before.sent, ...after.sent].map(lineOf)).toEqual(linesOf(first, ...missed, last));
    await after.leave();
  });

  test("receives each event once if it loses the connection after every event", async () => {
    const tenant = await harness.newTenant();
    const begun = await read(tenant);
    await harness.eventually(() => begun.lastId() !== "", "the first position");
    let after = begun.lastId();
    await begun.leave();
    expect(begun.sent).toEqual([]);
    const prompts = ["a kite", "[sim:fail]", "two kites", "[sim:fal:fail-later] three kites", "four kites", "five kites"];
    const ids = await Promise.all(prompts.map((prompt) => post(tenant, prompt)));
    const lines: string[] = [];
    while (lines.length < 2 * ids.length) {
      const reader = await read(tenant, { after });
      const [next] = await reader.has(1);
      const line = lineOf(next as Sent);
      // Over several nodes, a start of the last minute is sent again.
      if (harness.nodes === 1 || !line.startsWith("running") || !lines.includes(line)) lines.push(line);
      after = next?.id ?? "";
      await reader.leave();
    }
    const expected = ids.flatMap((id, at) => [`running ${id}`, `${prompts[at] === "[sim:fail]" ? "failed" : "succeeded"} ${id}`]);
    expect(lines.toSorted()).toEqual(expected.toSorted());
    for (const id of ids) expect(lines.findIndex((line) => line.endsWith(id))).toBe(lines.indexOf(`running ${id}`));
    const rest = await read(tenant, { after });
    const next = await generate(tenant);
    await rest.has(2);
    expect(rest.sent.map(lineOf)).toEqual(linesOf(next));
    await rest.leave();
  });

  test("is rejected with 400 if the id is malformed, changed, or of another account", async () => {
    const [tenant, other] = [await harness.newTenant(), await harness.newTenant()];
    const reader = await read(tenant);
    await generate(tenant);
    const [first] = await reader.has(2);
    await reader.leave();
    const id = first?.id ?? "";
    const rows: [Tenant, string][] = [
      [tenant, "x"],
      [tenant, eventIdOf(first as Sent)],
      [tenant, id.replace("cur_", "cur_1")],
      [tenant, id.replace("evt_", "evt_0")],
      [other, id],
    ];
    for (const [{ key }, lastId] of rows) {
      const answered = await harness.request("GET", "/v1/events", { key, headers: { "last-event-id": lastId } });
      expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
      expect(messageOf(answered)).toStartWith("Last-Event-ID: ");
    }
  });

  // The rule is the same on all nodes, and 10,000 commits of three nodes take half a minute.
  test.skipIf(nodesAsked() > 1)(
    "is rejected with 400 if more than 10,000 transfers of the account follow its position",
    async () => {
      const tenant = await harness.newTenant();
      const reader = await read(tenant);
      await harness.eventually(() => reader.lastId() !== "", "the first position");
      await reader.leave();
      const { accountSeq } = tenant;
      const topup = { mutation: "credit", accountSeq, kind: "topup", credits: 1, note: "", reference: null } as const;
      const atMs = harness.clock.nowMs();
      const { ledger } = harness.components;
      for (let done = 0; done <= 10_000; done += 500)
        await Promise.all(Array.from({ length: 500 }, () => ledger.post({ ...topup, atMs })));
      const headers = { "last-event-id": reader.lastId() };
      const answered = await harness.request("GET", "/v1/events", { key: tenant.key, headers });
      expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
      expect(messageOf(answered)).toContain("more than 10000 transfers");
    },
  );
});

test("needs a key without limits, and known types", async () => {
  const admin = await harness.admin();
  const { key } = await admin.createKey({
    ...{ reference: newReference("key"), accountId: harness.tenant.accountId, scope: "generate", name: "limited" },
    terms: { models: [MODEL] },
  });
  await harness.synchronize();
  const limited = await harness.request("GET", "/v1/events", { key });
  expect([limited.status, codeOf(limited)]).toEqual([403, "generation_not_enabled"]);
  for (const [query, named] of [
    ["?types=generation.lost", "types: must be a list of generation.running"],
    ["?types=", "types: must be a list of"],
    ["?kind=*", '"kind": unknown; the query takes types.'],
  ] as const) {
    const answered = await harness.request("GET", `/v1/events${query}`);
    expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answered)).toContain(named);
  }
  const head = await harness.request("HEAD", "/v1/events");
  expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
});
