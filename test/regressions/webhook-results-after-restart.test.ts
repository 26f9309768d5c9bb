// Results of webhook tries after a restart: the delivery of a former process is marked, and its retries follow the schedule.
import { afterEach, expect, test } from "bun:test";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { openWebhooks, type WebhookScene } from "../webhooks/fixture.ts";
import { openReceiver, type Receiver } from "../webhooks/receiver.ts";

let scene: WebhookScene;
let receiver: Receiver;
let clock: ReturnType<typeof testClock>;
let simulator: WebhookScene["simulator"];
afterEach(async () => {
  await receiver.stop();
  await scene.close();
  await simulator.stop();
  clock.stop();
  dropDirs();
});

/** Opens the service again after a crash during the first try of a delivery. */
const reopen = async (answer: () => Response): Promise<void> => {
  const dir = freshDir();
  clock = testClock(100);
  receiver = openReceiver();
  receiver.answer(() => new Promise<Response>(() => undefined));
  scene = await openWebhooks({ dir, clock }, receiver);
  ({ simulator } = scene);
  await scene.endpoint({ events: ["generation.succeeded"] });
  const { tenant } = scene;
  await scene.generate();
  await scene.eventually(() => receiver.received.length === 1);
  await scene.crash();
  receiver.answer(answer);
  scene = { ...(await openWebhooks({ dir, clock }, receiver)), tenant };
};

test("marks a delivery of a former process as delivered, and does not send it again", async () => {
  await reopen(() => new Response("ok"));
  const { tenant } = scene;
  expect(await scene.settled(tenant)).toMatchObject([{ state: "delivered", tries: [{ status: 200 }] }]);
  // A change of an endpoint reads all queues again.
  await scene.endpoint({ events: ["credits.low"] }, tenant);
  const [endpoint] = await scene.endpoints(tenant);
  await scene.request("PATCH", `/v1/webhook_endpoints/${endpoint?.id}`, { key: tenant.key, body: { description: "read" } });
  expect(receiver.received).toHaveLength(2);
});

test("continues the schedule of a delivery of a former process", async () => {
  await reopen(() => new Response("", { status: 500 }));
  const { tenant } = scene;
  const [delivery] = await scene.eventually(async () => {
    const found = await scene.deliveries(tenant);
    return (found[0]?.tries.length ?? 0) >= 2 && found;
  }, "two tries");
  expect(delivery).toMatchObject({ state: "pending", tries: [{ status: 500 }, { status: 500 }] });
  const waitMs = Date.parse(delivery?.next_try_at ?? "") - scene.clock.nowMs();
  expect(waitMs).toBeGreaterThan(6_000);
});
