// Signed links of the service, to result files and pinned inputs, signed cursors of lists, and webhook secrets.
import { type Cursors, createCursors } from "../domain/cursors.ts";
import { createSignedInputLinks, type InputLinks } from "../files/signed-input-links.ts";
import { createSignedLinks, type Links } from "../files/signed-links.ts";
import { createWebhookSecrets, type WebhookSecrets } from "../webhooks/secrets.ts";
import type { ServiceAddress } from "./service-address.ts";
import type { ComponentsDeps } from "./service-types.ts";

export type LinkComponents = { links: Links; inputLinks: InputLinks; cursors: Cursors; webhookSecrets: WebhookSecrets };

export const createLinkComponents = async (
  { settings, clock, store }: ComponentsDeps,
  { baseUrl }: ServiceAddress,
): Promise<LinkComponents> => ({
  links: createSignedLinks({
    secretHex: await store.secret("links"),
    baseUrl,
    validS: settings.limits.file_link_ttl_s,
    clock,
  }),
  inputLinks: createSignedInputLinks(await store.secret("inputs"), clock.nowMs),
  cursors: createCursors(await store.secret("cursors")),
  webhookSecrets: createWebhookSecrets(await store.secret("webhooks")),
});
