// Audits the log of the webhook receiver against the store.
import { isSubscribed, type WebhookEvent } from "../../domain/webhooks.ts";
import { eventIdOf } from "../../webhooks/payload.ts";
import type { Audit, Evidence } from "./audit.ts";
import type { Stored } from "./read-store.ts";
import type { ReceivedWebhook, ReceiverAnswer } from "./webhook-log.ts";
import { ownPathOf, pathsOf, type WebhookTargets } from "./webhook-targets.ts";

export type WebhookEvidence = { targets: WebhookTargets; received: readonly ReceivedWebhook[] };
/** The final event of a generation at one of its addresses. */
export type DueWebhook = { path: string; generationId: string; type: WebhookEvent };

/** The final events that the addresses of a run must receive. */
export const dueWebhooks = (stored: readonly Stored[], targets: WebhookTargets): DueWebhook[] =>
  stored.flatMap((one) => {
    if (one.status !== "succeeded" && one.status !== "failed") return [];
    const type = `generation.${one.status}` as const;
    return pathsOf(targets, one, type).map((path) => ({ path, generationId: one.id, type }));
  });

export const nameOfDue = ({ path, generationId, type }: DueWebhook): string => `${path} ${generationId} ${type}`;
export const nameOfReceived = ({ path, data, type }: ReceivedWebhook): string => `${path} ${data.id} ${type}`;

/** Among so many generations some have an address. */
const ENOUGH = 50;

type WebhookAudit = (evidence: Evidence & { webhooks: WebhookEvidence }, fault: (text: string) => void) => void;
const ifReceived =
  (audit: WebhookAudit): Audit =>
  ({ webhooks, ...evidence }, fault) => {
    if (webhooks) audit({ ...evidence, webhooks }, fault);
  };

const finalEventsArrive: WebhookAudit = ({ stored, webhooks: { targets, received } }, fault) => {
  const delivered = new Set(
    received.filter(({ answer, isVerified }) => answer === "accepted" && isVerified).map((one) => nameOfReceived(one)),
  );
  const all = dueWebhooks(stored, targets);
  for (const due of all) if (!delivered.has(nameOfDue(due))) fault(`${nameOfDue(due)}: never accepted`);
  if (all.length === 0 && stored.length > ENOUGH) fault("no generation had an address, so the check is void");
};

const signaturesAreValid: WebhookAudit = ({ webhooks: { received } }, fault) => {
  for (const { isVerified, path, id } of received) if (!isVerified) fault(`${path} ${id}: the signature is wrong`);
};

/** Statuses that a generation can have after the commit of an event. */
const TRUE_AFTER: Readonly<Record<string, readonly string[]>> = {
  "generation.running": ["running", "succeeded", "failed"],
  "generation.succeeded": ["succeeded"],
  "generation.failed": ["failed"],
};

const noneBeforeItsCommit: WebhookAudit = ({ webhooks: { received } }, fault) => {
  for (const { stored, type, path, id } of received)
    if (stored !== null && stored !== "unread" && !TRUE_AFTER[type]?.includes(stored))
      fault(`${path} ${id}: ${type} arrived while the database had ${stored}`);
};

/** Whether the address belongs to the generation, and gets this type of event. */
const isAddressed = ({ path, type }: ReceivedWebhook, one: Stored, { endpoints }: WebhookTargets): boolean => {
  const endpoint = endpoints.find((each) => each.path === path);
  if (!endpoint) return one.key !== null && ownPathOf(one.account, one.key) === path;
  return endpoint.account === one.account && isSubscribed(endpoint.events.join(" "), type as WebhookEvent);
};

const receivedAreStored: WebhookAudit = ({ stored, shown, webhooks: { targets, received } }, fault) => {
  const byId = new Map(stored.map((one) => [one.id, one]));
  for (const event of received) {
    if (event.stored === null) continue;
    const { path, id, type, sequence, data } = event;
    const name = `${path} ${id}`;
    const one = byId.get(String(data.id));
    if (!one) {
      fault(`${name}: there is no generation ${data.id}`);
      continue;
    }
    if (!isAddressed(event, one, targets)) fault(`${name}: ${type} was sent to an address that does not get it`);
    if (id !== eventIdOf(one.id, sequence)) fault(`${name}: not the id of event ${sequence} of ${one.id}`);
    if (!one.events.some(({ version }) => version === sequence)) fault(`${name}: ${one.id} has no event ${sequence}`);
    if (type !== `generation.${data.status}`) fault(`${name}: ${type} with the status ${data.status}`);
    const isFinal = type !== "generation.running";
    if (isFinal && type !== `generation.${one.status}`) fault(`${name}: ${type}, and the generation is ${one.status}`);
    if (isFinal && JSON.stringify(data) !== JSON.stringify(shown.get(one.id)))
      fault(`${name}: contains ${JSON.stringify(data)}, now ${JSON.stringify(shown.get(one.id))}`);
  }
};

/** Requests of the receiver by its answers; the repeated ones follow a failed try or a kill. */
export const figuresOfWebhooks = ({ received }: WebhookEvidence): Record<string, number> => {
  const count = (answer: ReceiverAnswer) => received.filter((one) => one.answer === answer).length;
  return {
    webhooks: received.length,
    webhooksRepeated: received.length - new Set(received.map(({ path, id }) => `${path} ${id}`)).size,
    ...{ webhooksRejected: count("rejected"), webhooksReset: count("reset"), webhooksHung: count("hung") },
    webhooksUnread: received.filter(({ stored }) => stored === "unread").length,
  };
};

/** Applies only after all deliveries had time to succeed. */
export const finalEventsReceived: Audit = ifReceived(finalEventsArrive);

export const WEBHOOK_AUDITS: readonly (readonly [string, Audit])[] = [
  ["every final event was received and accepted by each address of its generation, with a valid signature", finalEventsReceived],
  ["the official library accepts the signature of every webhook request", ifReceived(signaturesAreValid)],
  ["no webhook event arrives before its commit", ifReceived(noneBeforeItsCommit)],
  ["every received event is stored, for its address, as a poll returns it", ifReceived(receivedAreStored)],
];
