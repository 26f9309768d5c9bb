// Webhooks across restarts, long outages and clock jumps: no event is lost.
import { afterEach, expect, test } from "bun:test";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { openWebhooks, type WebhookScene } from "./fixture.ts";
import { openReceiver, type Receiver } from "./receiver.ts";

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

test("misses no event after 72 hours without a receiver and a recovery", async () => {
  receiver = openReceiver();
  scene = await openWebhooks({ factor: 0 }, receiver);
  receiver.answer(() => new Response("", { status: 500 }));
  const { id } = await scene.endpoint({ events: ["generation.failed"] });
  const sinceMs = scene.clock.nowMs();
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const { body } = await scene.post("/v1/generations", {
      ...{ model: "sim-image-1", input: { prompt: `[sim:fail] ${n}` }, max_wait_s: 60 },
    });
    ids.push(String(body.id));
    await scene.eventually(async () => {
      scene.clock.skip(1000);
      return (await scene.show(String(body.id))).status === "failed";
    });
    await pass(12 * HOUR_MS, HOUR_MS);
  }
  receiver.received.length = 0;
  receiver.answer(() => new Response("ok"));
  const recovered = await scene.post(`/v1/webhook_endpoints/${id}/recover?since=${new Date(sinceMs).toISOString()}`);
  expect([recovered.status, recovered.body.deliveries]).toEqual([202, ids.length]);
  await scene.settled();
  expect(new Set(receiver.received.map(({ body }) => body.data.id))).toEqual(new Set(ids));
  expect((await scene.endpoints())[0]?.enabled).toBe(true);
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
