// Retention of deliveries: it deletes all old ones, however many there are, in small transactions.
import { afterEach, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { openWebhooks, type WebhookScene } from "./fixture.ts";

const DAY_MS = 86_400_000;
/** More than one sweep deleted when it was bounded, and about what 20 s of the target rate leave. */
const OLD = 21_000;
let scene: WebhookScene;
afterEach(async () => {
  await scene.receiver.stop();
  await scene.close();
});

/** Adds test deliveries at a time. They are not sent, because no queue knows them. */
const addTests = async (count: number, atMs: number): Promise<void> => {
  const { id } = await scene.endpoint();
  const { accountSeq } = scene.tenant;
  const endpointSeq = (await scene.store.webhookEndpoints(accountSeq)).find((row) => row.id === id)?.seq ?? 0;
  const send = { mutation: "send-test-webhook", accountSeq, endpointSeq, atMs } as const;
  for (let left = count; left > 0; left -= 1000)
    await scene.store.commit(Array.from({ length: Math.min(left, 1000) }, () => send));
};

test("deletes every delivery older than 30 days and no newer one, at most 200 in a transaction", async () => {
  const limits = new Set<number>();
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => {
      for (const one of mutations) if (one.mutation === "sweep-webhooks") limits.add(one.limit);
      return store.commit(mutations);
    },
  });
  scene = await openWebhooks({ around });
  const nowMs = scene.clock.nowMs();
  await addTests(OLD, nowMs - 31 * DAY_MS);
  await addTests(3, nowMs - 29 * DAY_MS);
  const first = scene.components.webhooks.sweep();
  expect(scene.components.webhooks.sweep()).toBe(first);
  await first;
  expect(await scene.store.webhookDeliveries(scene.tenant.accountSeq, null, 10)).toHaveLength(3);
  expect([...limits]).toEqual([200]);
}, 30_000);

test("a stop ends a sweep after its transaction", async () => {
  scene = await openWebhooks({ factor: 0 });
  await addTests(500, scene.clock.nowMs() - 31 * DAY_MS);
  const sweep = scene.components.webhooks.sweep();
  const left = async () => (await scene.store.webhookDeliveries(scene.tenant.accountSeq, null, 1000)).length;
  await scene.eventually(async () => (await left()) === 300);
  scene.components.webhooks.stop();
  await sweep;
  expect(await left()).toBe(300);
});
