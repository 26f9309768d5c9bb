// Delivery of webhooks over real HTTP: events, signatures, retries and hostile receivers.
import { afterEach, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import type { Tenant } from "../harness.ts";
import { openWebhooks, PROMPT, type WebhookScene } from "./fixture.ts";
import { isVerified, openReceiver } from "./receiver.ts";

let scene: WebhookScene;
afterEach(async () => {
  await scene.receiver.stop();
  await scene.close();
});

test("delivers the events of a generation with the resource of a poll, signed for the official library", async () => {
  scene = await openWebhooks();
  const { secret } = await scene.endpoint();
  const id = await scene.generate();
  await scene.settled();
  const { received } = scene.receiver;
  const ended = received.find(({ body }) => body.type === "generation.succeeded");
  if (!ended) throw new Error("no event of the end was delivered");
  const shown = await scene.show(id);
  expect(ended.body.data).toEqual({ ...shown, output: { ...shown.output, urls: expect.any(Array) } } as never);
  expect(ended.body.timestamp).toBe(shown.completed_at ?? "");
  expect(received.every((one) => isVerified(one, secret))).toBe(true);
  expect(isVerified(ended, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")).toBe(false);
  expect(isVerified({ ...ended, text: ended.text.replace("succeeded", "failed") }, secret)).toBe(false);
});

test("delivers only the events that an endpoint subscribes to, with a sequence that rises", async () => {
  scene = await openWebhooks();
  const other = openReceiver();
  await scene.endpoint({ events: ["generation.failed"] });
  await scene.endpoint({ url: `${other.url}/all`, events: ["generation.running", "generation.failed"] });
  await scene.generate("[sim:fail]");
  await scene.settled();
  expect(scene.receiver.types()).toEqual(["generation.failed"]);
  const sequences = other.received.map(({ body }) => body.sequence);
  expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  expect(new Set(sequences).size).toBe(sequences.length);
  expect(other.received.at(-1)?.id).toBe(scene.receiver.received[0]?.id ?? "");
  await other.stop();
});

test("delivers a paid purchase with its amount", async () => {
  scene = await openWebhooks();
  const { secret } = await scene.endpoint({ events: ["purchase.completed"] });
  const by = { kind: "command", id: "0", name: "root" } as const;
  const { purchaseId } = await scene.components.checkout.buy({ accountId: scene.tenant.accountId, by, usd: 25 });
  await scene.components.checkout.endTest(purchaseId, "pay", by);
  await scene.settled();
  const [received] = scene.receiver.received;
  if (!received) throw new Error("nothing was delivered");
  expect(received.body).toMatchObject({
    ...{ type: "purchase.completed", sequence: 1 },
    data: { id: purchaseId, object: "purchase", amount_usd: 25, paid_at: received.body.timestamp },
  });
  expect([isVerified(received, secret), received.id]).toEqual([true, `evt_${purchaseId.slice(4)}_1`]);
});

test("delivers the balance when it falls below the default of the service, once, with one id for all endpoints", async () => {
  scene = await openWebhooks({ env: { GENROUTER_CREDITS__LOW_BALANCE_ALERT_USD: "9" } });
  const tenant = await scene.newTenant(905);
  const { secret } = await scene.endpoint({ events: ["credits.low"] }, tenant);
  await scene.endpoint({ events: ["*"], url: `${scene.receiver.url}/all` }, tenant);
  await scene.generate(PROMPT, tenant);
  await scene.generate(PROMPT, tenant);
  await scene.settled(tenant);
  const received = scene.receiver.received.filter(({ body }) => body.type === "credits.low");
  expect(received.map(({ path }) => path).toSorted()).toEqual(["/", "/all"]);
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  const alone = received.find(({ path }) => path === "/");
  if (!alone) throw new Error("nothing was delivered");
  expect(isVerified(alone, secret)).toBe(true);
  const { available_usd: available, held_usd: held, ...rest } = alone.body.data as Record<string, number>;
  expect(rest).toEqual({ object: "balance", balance_usd: 9.05, owed_usd: 0, limits: [] } as never);
  expect(Number(available)).toBeLessThan(9);
  expect(Math.round((Number(available) + Number(held)) * 100)).toBe(905);
});

test("delivers nothing of another account, and stores nothing for an account without endpoints", async () => {
  scene = await openWebhooks();
  await scene.endpoint();
  const other = await scene.newTenant();
  await scene.generate(PROMPT, other);
  expect(await scene.deliveries(other)).toEqual([]);
  expect(scene.receiver.received).toEqual([]);
});

test("retries after 5 s and 1 min until a receiver accepts, with the same id and a new signature", async () => {
  scene = await openWebhooks({ factor: 0 });
  const { secret } = await scene.endpoint();
  scene.receiver.answer(() => new Response("down", { status: 503 }));
  const { id } = (await scene.post(`/v1/webhook_endpoints/${(await scene.endpoints())[0]?.id}/test`)).body;
  const tries = async () => (await scene.deliveries()).find((one) => one.id === id)?.tries.length;
  await scene.eventually(async () => (await tries()) === 1);
  scene.clock.skip(4_000);
  expect(scene.receiver.received).toHaveLength(1);
  scene.clock.skip(1_000);
  await scene.eventually(async () => (await tries()) === 2);
  scene.receiver.answer(() => new Response("ok"));
  scene.clock.skip(60_000);
  const [delivery] = await scene.settled();
  expect(delivery?.state).toBe("delivered");
  expect(delivery?.tries.map(({ status }) => status)).toEqual([503, 503, 200]);
  const { received } = scene.receiver;
  expect(new Set(received.map((one) => one.id)).size).toBe(1);
  expect(new Set(received.map(({ timestamp }) => timestamp)).size).toBe(3);
  expect(received.every((one) => isVerified(one, secret))).toBe(true);
});

test("drops an undelivered running event when the generation has ended", async () => {
  scene = await openWebhooks();
  await scene.endpoint();
  scene.receiver.answer(({ body }) => new Response("", { status: body.type === "generation.running" ? 500 : 200 }));
  await scene.generate();
  const all = await scene.settled();
  expect(all.map(({ type, state }) => [type, state])).toEqual([
    ["generation.succeeded", "delivered"],
    ["generation.running", "dropped"],
  ]);
});

test("disables an endpoint that returns 410, logs it, and sends and stores nothing until it is enabled", async () => {
  scene = await openWebhooks();
  const { id } = await scene.endpoint({ events: ["generation.succeeded"] });
  scene.receiver.answer(() => new Response("", { status: 410 }));
  await scene.generate();
  await scene.eventually(async () => (await scene.endpoints())[0]?.enabled === false);
  expect((await scene.endpoints())[0]?.disabled_reason).toContain("410");
  expect(scene.lines.filter(({ event }) => event === "webhook endpoint disabled").map(({ fields }) => fields)).toMatchObject([
    { account_id: scene.tenant.accountId, webhook_endpoint_id: id },
  ]);
  await scene.generate();
  expect(scene.receiver.received).toHaveLength(1);
  expect(await scene.deliveries()).toHaveLength(1);

  scene.receiver.answer(() => new Response("ok"));
  const changed = await scene.request("PATCH", `/v1/webhook_endpoints/${id}`, { body: { enabled: true } });
  expect(changed.body).toMatchObject({ enabled: true, disabled_reason: null });
  await scene.generate();
  expect((await scene.settled()).map(({ state }) => state)).toEqual(["delivered", "failed"]);
});

test("reports an endpoint once that answers 410 to many concurrent tries", async () => {
  const judged = Promise.withResolvers<void>();
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations) => {
      // Conditions are stored after all answers have arrived.
      if (mutations.some((one) => one.mutation === "record-webhook-tries" && one.endpoints.length > 0)) await judged.promise;
      return await store.commit(mutations);
    },
  });
  scene = await openWebhooks({ around });
  await scene.endpoint();
  await scene.generate();
  await scene.settled();
  const gone = Promise.withResolvers<void>();
  scene.receiver.answer(async () => {
    await gone.promise;
    return new Response("", { status: 410 });
  });
  const before = scene.receiver.received.length;
  await Promise.all(Array.from({ length: 12 }, () => scene.generate()));
  await scene.eventually(() => scene.receiver.received.length - before >= 10);
  gone.resolve();
  const linesOf = (name: string) => scene.lines.filter(({ event }) => event === name);
  await scene.eventually(() => linesOf("webhook try failed").length >= 10);
  judged.resolve();
  await scene.eventually(() => scene.components.webhooks.load().inFlight === 0);
  expect((await scene.endpoints())[0]?.enabled).toBe(false);
  expect(linesOf("webhook endpoint disabled")).toHaveLength(1);
});

test("does not follow a redirect", async () => {
  scene = await openWebhooks();
  const elsewhere = openReceiver();
  await scene.endpoint({ events: ["generation.succeeded"] });
  scene.receiver.answer(() => Response.redirect(elsewhere.url, 307));
  await scene.generate();
  await scene.eventually(async () => (await scene.deliveries())[0]?.tries[0]?.status === 307);
  expect(elsewhere.received).toEqual([]);
  await elsewhere.stop();
});

test.each([
  ["hangs", () => new Promise<Response>(() => undefined), "it took too long"],
  [
    "sends an endless response",
    () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65_536).fill(97)) })),
    null,
  ],
])("ends a try whose receiver %s", async (_name, answer, error) => {
  scene = await openWebhooks({ webhooks: { timeoutMs: 300 } });
  await scene.endpoint({ events: ["generation.succeeded"] });
  scene.receiver.answer(answer);
  await scene.generate();
  const [made] = await scene.eventually(async () => {
    const [delivery] = await scene.deliveries();
    return delivery && delivery.tries.length > 0 && delivery.tries;
  });
  expect(made).toMatchObject(error === null ? { status: 200 } : { status: null, error });
});

test("keeps the first 1,024 bytes of a response, and nothing of a response of a private host", async () => {
  scene = await openWebhooks();
  await scene.endpoint({ events: ["generation.succeeded"] });
  scene.receiver.answer(() => new Response("internal secret"));
  await scene.generate();
  const [delivery] = await scene.settled();
  expect(delivery?.tries).toMatchObject([{ status: 200, answer: null }]);
});

test("records a refused connection as a failed try", async () => {
  scene = await openWebhooks();
  await scene.receiver.stop();
  await scene.endpoint({ events: ["generation.succeeded"] });
  await scene.generate();
  const [made] = await scene.eventually(async () => {
    const [delivery] = await scene.deliveries();
    return delivery && delivery.tries.length > 0 && delivery.tries;
  });
  expect(made).toMatchObject({ status: null, error: "its server could not be reached" });
});

/** Accounts with 20 endpoints each: their tries are more than there are places for all receivers. */
const HOSTILE_ACCOUNTS = 6;
const withHostile = async (url: string): Promise<Tenant[]> => {
  const tenants = await Promise.all(Array.from({ length: HOSTILE_ACCOUNTS }, () => scene.newTenant()));
  for (const tenant of tenants) for (let n = 0; n < 20; n += 1) await scene.endpoint({ url: `${url}/${n}` }, tenant);
  return tenants;
};
const generateAll = async (tenants: readonly Tenant[], times: number): Promise<void> => {
  for (let n = 0; n < times; n += 1) await Promise.all(tenants.map((tenant) => scene.generate(PROMPT, tenant)));
};

test("delays no other account when the receivers of many accounts hang", async () => {
  scene = await openWebhooks({ webhooks: { timeoutMs: 60_000 } });
  const slow = openReceiver();
  slow.answer(() => new Promise<Response>(() => undefined));
  const hostile = await withHostile(slow.url);
  await scene.endpoint({ events: ["generation.succeeded"] });
  await generateAll(hostile, 2);
  await scene.generate();
  expect((await scene.settled()).map(({ state }) => state)).toEqual(["delivered"]);
  await slow.stop();
}, 20_000);

test("delays no other account when receivers that answered late with 200 hang after an idle moment", async () => {
  scene = await openWebhooks({ webhooks: { timeoutMs: 60_000 } });
  const slow = openReceiver();
  const late = Promise.withResolvers<void>();
  slow.answer(async () => {
    await late.promise;
    return new Response("ok");
  });
  const hostile = await withHostile(slow.url);
  await generateAll(hostile, 1);
  scene.clock.skip(5000);
  late.resolve();
  for (const tenant of hostile) {
    // An event that says that the generation runs is dropped if its end was delivered before.
    const ends = (await scene.settled(tenant)).filter(({ type }) => type === "generation.succeeded");
    expect(ends.map(({ state }) => state)).toEqual(Array.from({ length: 20 }, () => "delivered"));
  }
  expect(scene.components.webhooks.load()).toEqual({ inFlight: 0, dueSinceMs: null });

  slow.answer(() => new Promise<Response>(() => undefined));
  await scene.endpoint({ events: ["generation.succeeded"] });
  await generateAll(hostile, 2);
  await scene.generate();
  expect((await scene.settled()).map(({ state }) => state)).toEqual(["delivered"]);
  await slow.stop();
}, 20_000);

test("signs events for the address of a submission with the default secret of the account", async () => {
  scene = await openWebhooks();
  const headers = { "genrouter-webhook": `${scene.receiver.url}/job?n=7` };
  const id = await scene.generate(PROMPT, scene.tenant, headers);
  const all = await scene.settled();
  expect(all.find(({ type }) => type === "generation.succeeded")).toMatchObject({
    generation: id,
    endpoint: null,
    state: "delivered",
  });
  const { secret } = (await scene.request("GET", "/v1/webhook_secret")).body;
  expect(scene.receiver.received.every((one) => isVerified(one, String(secret)))).toBe(true);
  expect(scene.receiver.received.at(-1)?.path).toBe("/job");
});
