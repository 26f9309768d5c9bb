// Webhooks of one life of a node: the delivery and the service of the product, with a simulated network.
import type { Engine } from "../../app/engine-types.ts";
import { createRecordOf } from "../../app/webhook-component.ts";
import { resourceJson } from "../../http/resource.ts";
import type { Log } from "../../logging/events.ts";
import type { Fetched, FetchOptions } from "../../media/guarded-fetch.ts";
import type { Store } from "../../store/store.ts";
import { createWebhookDelivery, type WebhookDelivery } from "../../webhooks/delivery.ts";
import { createWebhookSecrets } from "../../webhooks/secrets.ts";
import type { Exchange } from "../../webhooks/send.ts";
import { createWebhookService, type WebhookService } from "../../webhooks/service.ts";
import { createTargets } from "../../webhooks/targets.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";
import type { ReceivedEvent, Receivers } from "./webhook-receivers.ts";
import type { WebhookWorld } from "./webhook-world.ts";

export type NodeWebhooks = { delivery: WebhookDelivery; service: WebhookService };

/** Maximum time of a try, and interval of takeovers, as in the service. */
const TRY_MS = 10_000;
const TAKE_OVER_MS = 10_000;
/** Longer than any try. */
const NEVER_MS = 1e9;
const SECRETS = createWebhookSecrets("07".repeat(32));

const createExchange = (life: NodeLife, dice: Rng, receivers: Receivers): Exchange => {
  const travelMs = () => dice.between(5, dice.chance(0.05) ? 12_000 : 300) * dice.roll();
  const read = async (received: ReceivedEvent | undefined, signal: AbortSignal): Promise<Fetched> => {
    const { answer = "silent" } = received ?? {};
    if (answer === "silent") await life.sleep(NEVER_MS, signal);
    if (signal.aborted) return { kind: "unreachable", why: "it took too long" };
    if (received) received.wasRead = true;
    await life.cross("webhook: answer read, not stored");
    if (typeof answer === "string") return { kind: "unreachable", why: "its server could not be reached" };
    return { kind: "answered", response: new Response(null, { status: answer }) };
  };
  return {
    monoMs: life.monoMs,
    timeout: (ms) => {
      const over = new AbortController();
      life.clock.after(ms, () => over.abort());
      return over.signal;
    },
    fetch: async (url: string, { body = "", headers = {}, signal }: FetchOptions) => {
      await life.cross("webhook: before the bytes leave");
      const [sentAtMs, arrivalMs, backMs] = [life.world.nowMs(), travelMs(), travelMs()];
      let received: ReceivedEvent | undefined;
      // A sent request arrives, regardless of its sender's state.
      life.world.after(arrivalMs, () => {
        received = receivers.receive({ url, headers, body, sentAtMs, by: life });
      });
      await life.sleep(arrivalMs + backMs, signal);
      return read(received, signal);
    },
  };
};

export const createNodeWebhooks = (of: {
  life: NodeLife;
  dice: Rng;
  store: Store;
  engine: Pick<Engine, "post" | "records">;
  log: Log;
  webhooks: WebhookWorld;
}): NodeWebhooks => {
  const { life, store, engine, log } = of;
  const { clock } = life;
  const { post } = engine;
  const allowsFor = () => () => false;
  const targets = createTargets({ reads: store, clock, secrets: SECRETS, allowsFor, isAlone: store.node === null });
  const delivery = createWebhookDelivery({
    ...{ clock, log, reads: store, post, targets, node: store.node, timeoutMs: TRY_MS },
    recordOf: createRecordOf(engine.records, store),
    resourceOf: (record) => resourceJson(record, (id, n) => `https://us.test/files/${id}/${n}`),
    endpointDisabled: () => undefined,
    exchange: createExchange(life, of.dice, of.webhooks.receivers),
  });
  const takeOver = () => {
    clock.after(TAKE_OVER_MS, takeOver);
    delivery.takeOver().catch(() => undefined);
  };
  if (store.node !== null) clock.after(TAKE_OVER_MS, takeOver);
  return { delivery, service: createWebhookService({ clock, reads: store, post, secrets: SECRETS, allowsFor }) };
};
