// A webhook delivery that a crash left in the outbox: its result is stored after the restart, so no later start sends it again.
import { afterAll, expect, test } from "bun:test";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { openWebhooks } from "../webhooks/fixture.ts";
import { openReceiver } from "../webhooks/receiver.ts";

afterAll(dropDirs);

test("stores the result of a delivery that a former process left, and sends it no more", async () => {
  const dir = freshDir();
  const clock = testClock(100);
  const receiver = openReceiver();
  receiver.answer(() => new Promise<Response>(() => undefined));
  const first = await openWebhooks({ dir, clock }, receiver);
  await first.endpoint({ events: ["generation.succeeded"] });
  const { simulator, tenant } = first;
  await first.generate();
  await first.eventually(() => receiver.received.length === 1);
  await first.crash();

  receiver.answer(() => new Response("", { status: 500 }));
  const second = await openWebhooks({ dir, clock }, receiver);
  await second.eventually(async () => (await second.deliveries(tenant))[0]?.tries.length === 1, "the failed try");
  receiver.answer(() => new Response("ok"));
  const [delivery] = await second.settled(tenant);
  expect(delivery).toMatchObject({ state: "delivered", next_try_at: null, tries: [{ status: 500 }, { status: 200 }] });
  const sent = receiver.received.length;
  await second.crash();

  const third = await openWebhooks({ dir, clock }, receiver);
  const { id } = await third.endpoint({ events: ["generation.failed"] }, tenant);
  expect((await third.post(`/v1/webhook_endpoints/${id}/test`, undefined, tenant)).status).toBe(202);
  await third.settled(tenant);
  expect(receiver.types().slice(sent)).toEqual(["webhook.test"]);
  await simulator.stop();
  await receiver.stop();
  await third.close();
  clock.stop();
});
