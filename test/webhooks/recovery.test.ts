// Webhooks across restarts, long outages and clock jumps: no event is lost.
import { afterEach, expect, test } from "bun:test";
import { messageOf } from "../api/harness.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { failedTry } from "../store/contract/webhooks.ts";
import { openWebhooks, type WebhookScene } from "./fixture.ts";
import { isVerified, openReceiver, type Receiver } from "./receiver.ts";

const HOUR_MS = 3_600_000;
let scene: WebhookScene;
let receiver: Receiver;
afterEach(async () => {
  await receiver.stop();
  await scene.close();
  dropDirs();
});

/** Moves time forward in steps, and lets the tries of each step end. */
const pass = async (ms: number, stepMs: number): Promise<void> => {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    scene.clock.skip(stepMs);
    await scene.eventually(() => scene.components.webhooks.load().inFlight === 0);
  }
};

test("delivers after a restart what a crash left between the commit and the delivery", async () => {
  const dir = freshDir();
  const clock = testClock(100);
  receiver = openReceiver();
  receiver.answer(() => new Promise<Response>(() => undefined));
  scene = await openWebhooks({ dir, clock }, receiver);
  const { simulator } = scene;
  await scene.endpoint({ events: ["generation.succeeded"] });
  const { key } = scene.tenant;
  const id = await scene.generate();
  await scene.eventually(() => receiver.received.length === 1);
  await scene.crash();

  receiver.answer(() => new Response("ok"));
  const [first] = receiver.received;
  scene = await openWebhooks({ dir, clock }, receiver);
  await scene.eventually(() => receiver.received.length === 2);
  expect(receiver.received[1]).toMatchObject({ id: first?.id ?? "", body: { type: "generation.succeeded", data: { id } } });
  expect((await scene.show(id, key)).status).toBe("succeeded");
  await simulator.stop();
  clock.stop();
});

/** Lets generations end, one after each pause. @returns their ids */
const endSeveral = async (count: number, pauseMs: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const prompt = n % 2 === 0 ? `a kite ${n}` : `[sim:fail] ${n}`;
    const { body } = await scene.post("/v1/generations", { model: "sim-image-1", input: { prompt }, max_wait_s: 60 });
    ids.push(String(body.id));
    await scene.eventually(async () => {
      scene.clock.skip(1000);
      return (await scene.show(String(body.id))).completed_at !== null;
    });
    await pass(pauseMs, HOUR_MS);
  }
  return ids;
};
const EVENTS = { events: ["generation.succeeded", "generation.failed"] };
/** The endpoint again at its address, after it was unavailable. */
const comeBack = (): void => {
  receiver = openReceiver(Number(new URL(receiver.url).port));
};
/** Expects the end of each generation once, in valid requests. */
const expectAll = (ids: readonly string[], secret: string): void => {
  expect(receiver.received.map(({ body }) => body.data.id).sort()).toEqual(ids.toSorted());
  expect(receiver.received.filter((each) => !isVerified(each, secret))).toEqual([]);
};

test.each([
  { hours: 72, exhausted: 0 },
  // The retries of the first event have ended, and no later one repeats it by itself.
  { hours: 108, exhausted: 1 },
])("misses no event after $hours hours without a receiver and a recovery", async ({ hours, exhausted }) => {
  receiver = openReceiver();
  scene = await openWebhooks({ factor: 0 }, receiver);
  const { id, secret } = await scene.endpoint(EVENTS);
  await receiver.stop();
  const sinceMs = scene.clock.nowMs();
  const ids = await endSeveral(hours / 12, 12 * HOUR_MS);
  const states = (await scene.deliveries()).map(({ state }) => state);
  expect(states.filter((state) => state === "failed")).toHaveLength(exhausted);
  expect(states.filter((state) => state === "pending")).toHaveLength(ids.length - exhausted);
  expect((await scene.endpoints())[0]?.enabled).toBe(true);

  comeBack();
  const recovered = await scene.post(`/v1/webhook_endpoints/${id}/recover?since=${new Date(sinceMs).toISOString()}`);
  expect([recovered.status, recovered.body.deliveries]).toEqual([202, ids.length]);
  expect((await scene.settled()).map(({ state }) => state)).toEqual(ids.map(() => "delivered"));
  expectAll(ids, secret);
});

test("misses no event of an endpoint that was disabled after five days, once it is enabled and recovered", async () => {
  receiver = openReceiver();
  scene = await openWebhooks({ factor: 0 }, receiver);
  const { id, secret } = await scene.endpoint(EVENTS);
  await receiver.stop();
  const sinceMs = scene.clock.nowMs();
  const ids: string[] = [];
  const isEnabled = async () => (await scene.endpoints())[0]?.enabled;
  while (await isEnabled()) ids.push(...(await endSeveral(1, 12 * HOUR_MS)));
  expect(ids.length).toBeGreaterThanOrEqual(10);
  const recover = () => scene.post(`/v1/webhook_endpoints/${id}/recover?since=${new Date(sinceMs).toISOString()}`);
  expect((await recover()).status).toBe(409);

  comeBack();
  expect((await scene.request("PATCH", `/v1/webhook_endpoints/${id}`, { body: { enabled: true } })).status).toBe(200);
  expect((await recover()).status).toBe(202);
  expect((await scene.settled()).map(({ state }) => state)).toEqual(ids.map(() => "delivered"));
  expectAll(ids, secret);
});

test("disables an endpoint after five days of failures, but not after a clock jump of a year", async () => {
  receiver = openReceiver();
  scene = await openWebhooks({ factor: 0 }, receiver);
  receiver.answer(() => new Response("", { status: 500 }));
  const { id } = await scene.endpoint();
  const isEnabled = async () => (await scene.endpoints())[0]?.enabled;
  const sendTest = async () => {
    const { status } = await scene.post(`/v1/webhook_endpoints/${id}/test`);
    return status;
  };
  await sendTest();
  await scene.eventually(() => receiver.received.length === 1 && scene.components.webhooks.load().inFlight === 0);
  scene.clock.stall(365 * 24 * HOUR_MS);
  await scene.eventually(() => receiver.received.length === 2);
  expect(await isEnabled()).toBe(true);

  for (let day = 0; day < 5; day += 1) {
    expect(await isEnabled()).toBe(true);
    await sendTest();
    await pass(24 * HOUR_MS, 2 * HOUR_MS);
  }
  await sendTest();
  await pass(24 * HOUR_MS, 2 * HOUR_MS);
  expect(await isEnabled()).toBe(false);
  expect((await scene.endpoints())[0]?.disabled_reason).toContain("five days");
  expect(await sendTest()).toBe(409);
});

test("sends each due delivery once when the clock jumps over all of their retries", async () => {
  receiver = openReceiver();
  scene = await openWebhooks({ factor: 0 }, receiver);
  receiver.answer(() => new Response("", { status: 500 }));
  const { id } = await scene.endpoint();
  for (let n = 0; n < 5; n += 1) await scene.post(`/v1/webhook_endpoints/${id}/test`);
  await scene.eventually(() => receiver.received.length === 5);
  await scene.eventually(() => scene.components.webhooks.load().inFlight === 0);
  receiver.answer(() => new Response("ok"));
  scene.clock.stall(30 * 24 * HOUR_MS);
  expect((await scene.settled()).map(({ state }) => state)).toEqual(Array(5).fill("delivered"));
  expect(receiver.received).toHaveLength(10);
});

test("a drain begins no new try, and waits for the tries in flight", async () => {
  receiver = openReceiver();
  scene = await openWebhooks({}, receiver);
  const { id } = await scene.endpoint();
  const { promise, resolve } = Promise.withResolvers<Response>();
  receiver.answer(() => promise);
  await scene.post(`/v1/webhook_endpoints/${id}/test`);
  await scene.eventually(() => receiver.received.length === 1);
  const drained = scene.components.webhooks.drain();
  await scene.post(`/v1/webhook_endpoints/${id}/test`);
  resolve(new Response("ok"));
  await drained;
  expect((await scene.deliveries()).map(({ state, tries }) => [state, tries.length])).toEqual([
    ["pending", 0],
    ["delivered", 1],
  ]);
  expect(receiver.received).toHaveLength(1);
});

test("a recovery sends at most 10,000 deliveries of one endpoint, and continues after the last", async () => {
  receiver = openReceiver();
  scene = await openWebhooks({ factor: 0 }, receiver);
  const { accountSeq, key } = scene.tenant;
  const [failing, other] = [await scene.endpoint(), await scene.endpoint()];
  const seqOf = async (id: string) => (await scene.store.webhookEndpoints(accountSeq)).find((row) => row.id === id)?.seq ?? 0;
  const atMs = scene.clock.nowMs();
  /** Deliveries that have failed for good. No queue knows them. */
  const addFailed = async (endpointSeq: number, count: number) => {
    const send = { mutation: "send-test-webhook", accountSeq, endpointSeq, atMs } as const;
    const made = await scene.store.commit(Array.from({ length: count }, () => send));
    const results = made.flatMap((one) =>
      one.kind === "done" ? [{ ...failedTry(one.seq ?? 0), state: "failed", dueAtMs: null } as const] : [],
    );
    await scene.store.commit([{ mutation: "record-webhook-tries", results, endpoints: [] }]);
  };
  for (let n = 0; n < 11; n += 1) {
    await addFailed(await seqOf(failing.id), 1000);
    await addFailed(await seqOf(other.id), 10);
  }
  const recover = (after = "") =>
    scene.post(`/v1/webhook_endpoints/${failing.id}/recover?since=${new Date(atMs).toISOString()}${after}`);
  const { body: first } = await recover();
  expect([first.deliveries, first.has_more]).toEqual([10_000, true]);
  const { status, body: rest } = await recover(`&after=${first.next}`);
  expect([status, rest]).toMatchObject([202, { deliveries: 1000, has_more: false, next: null }]);
  await scene.eventually(
    async () => (await scene.store.nextWebhooks(await seqOf(failing.id), 1)).length === 0,
    "the deliveries",
    30_000,
  );
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(11_000);

  const foreign = await scene.newTenant();
  const { id } = await scene.endpoint({}, foreign);
  const made = await scene.post(`/v1/webhook_endpoints/${id}/test`, undefined, foreign);
  for (const after of ["whd_x", String(made.body.id)]) {
    const refused = await scene.request(
      "POST",
      `/v1/webhook_endpoints/${failing.id}/recover?since=2026-10-19T12:00:00Z&after=${after}`,
      { key },
    );
    expect([refused.status, messageOf(refused)]).toEqual([400, "after: no webhook delivery with this id on the account."]);
  }
}, 60_000);
