// A webhook event that the store has before the process has handled its commit: it is sent once, and with the state of its event.
import { expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { openWebhooks } from "../webhooks/fixture.ts";

test("sends an event once and as it is stored, when the queue is read between the commit and its handling", async () => {
  const committed = Promise.withResolvers<void>();
  const handled = Promise.withResolvers<void>();
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations) => {
      const outcomes = await store.commit(mutations);
      if (mutations.some((one) => one.mutation === "step" && one.settlement !== undefined)) {
        committed.resolve();
        await handled.promise;
      }
      return outcomes;
    },
  });
  const scene = await openWebhooks({ around });
  await scene.endpoint({ events: ["generation.succeeded"] });
  const submitted = await scene.post("/v1/generations", { model: "sim-image-1", input: { prompt: "a red kite" } });
  const id = String(submitted.body.id);
  await committed.promise;
  const { received } = scene.receiver;
  await scene.components.webhooks.takeOver();
  await scene.eventually(() => received.length > 0);
  expect(received[0]?.body).toMatchObject({ type: "generation.succeeded", data: { id, status: "succeeded", cost_usd: 0.06 } });
  expect((await scene.show(id)).status).toBe("succeeded");
  handled.resolve();
  await scene.settled();
  await scene.post("/v1/generations", { model: "sim-image-1", input: { prompt: "a blue kite" } });
  await scene.eventually(() => new Set(received.map(({ id: event }) => event)).size === 2);
  expect(received).toHaveLength(2);
  await scene.receiver.stop();
  await scene.close();
});
