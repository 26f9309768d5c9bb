// Webhooks: endpoints of accounts, and the delivery of events after their commit.
import type { GenerationRecord } from "../domain/types.ts";
import { extensionOf } from "../files/serve.ts";
import type { RecordCache } from "../generations/record-cache.ts";
import { resourceJson } from "../http/resource.ts";
import type { StoreReads } from "../store/store.ts";
import { createWebhookDelivery, type WebhookDelivery } from "../webhooks/delivery.ts";
import { readWebhookHosts } from "../webhooks/hosts.ts";
import { isBehind } from "../webhooks/payload.ts";
import type { SendDeps } from "../webhooks/send.ts";
import { createSentRequestOf, type SentRequestOf } from "../webhooks/sent-request.ts";
import { createWebhookService, type WebhookService } from "../webhooks/service.ts";
import { createTargets } from "../webhooks/targets.ts";
import type { ComponentList } from "./component-list.ts";
import type { EngineComponent } from "./engine-component.ts";
import type { LinkComponents } from "./link-components.ts";
import type { Components, ComponentsDeps } from "./service-types.ts";

export type WebhookComponents = { webhooks: WebhookDelivery; webhookService: WebhookService; sentRequestOf: SentRequestOf };

type WebhookParts = Pick<EngineComponent, "engine"> &
  LinkComponents &
  Pick<Components, "notifications"> & {
    mode: "test" | "live";
  };

/** Creates the JSON of a generation for an event, as a poll shows it. */
export const createResourceOf =
  (links: LinkComponents["links"]) =>
  (record: GenerationRecord): string =>
    resourceJson(record, (id, n, mime) => links.sign(id, n, extensionOf(mime)));

/**
 * Creates the function that finds the record of a delivery. A delivery can be read from the store before this process handles the
 * commit that added it. The cached record is then older than the event, and it is dropped so that polls show the event, too.
 */
export const createRecordOf =
  (records: Pick<RecordCache, "newest" | "drop">, reads: Pick<StoreReads, "generationBySeq">): SendDeps["recordOf"] =>
  async (delivery) => {
    const { generationSeq: seq } = delivery;
    if (seq === null) return undefined;
    const known = records.newest(seq);
    if (known && !isBehind(delivery, known)) return known;
    if (known) records.drop(seq);
    return await reads.generationBySeq(seq);
  };

/** Maximum time of a try in milliseconds. */
const TRY_MS = 10_000;

export const createWebhookComponent = (
  list: ComponentList,
  deps: ComponentsDeps,
  { engine, links, webhookSecrets: secrets, mode, notifications }: WebhookParts,
): WebhookComponents => {
  const { settings, clock, log, store } = deps;
  const { post } = engine;
  const allowsFor = readWebhookHosts(settings.webhooks.allow, mode === "test");
  const targets = createTargets({ reads: store, clock, secrets, allowsFor, isAlone: store.node === null });
  const events = { recordOf: createRecordOf(engine.records, store), resourceOf: createResourceOf(links) };
  const webhooks = createWebhookDelivery({
    ...{ clock, log, reads: store, post, targets, node: store.node, ...events },
    endpointDisabled: notifications.endpointDisabled,
    timeoutMs: deps.webhooks?.timeoutMs ?? TRY_MS,
    ...(deps.webhooks?.fetch ? { fetch: deps.webhooks.fetch } : {}),
  });
  list.add({ name: "webhooks", stop: webhooks.stop });
  return {
    webhooks,
    webhookService: createWebhookService({ clock, reads: store, post, secrets, allowsFor }),
    sentRequestOf: createSentRequestOf({ reads: store, ...events }),
  };
};

/** Waits for tries in flight; the store keeps what is left. */
export const drainWebhooks = (
  { webhooks }: Pick<Components, "webhooks">,
  { clock }: Pick<ComponentsDeps, "clock">,
  longestMs: number,
): Promise<void> => Promise.race([webhooks.drain(), new Promise<void>((over) => clock.after(longestMs, over))]);
