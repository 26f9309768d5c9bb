// Webhook endpoints and deliveries of an account, for the API and the console.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { deliveryId, leastSeqAt, newId, readDeliveryId } from "../domain/ids.ts";
import type { AdminResult, Mutation, Principal, ResultOf } from "../domain/mutations.ts";
import type { Caller } from "../domain/types.ts";
import type { DeliveryState } from "../domain/webhooks.ts";
import type { DeliveryRow, EndpointRow, WebhookReads } from "../store/webhook-reads.ts";
import { type Addresses, createAddresses } from "./addresses.ts";
import type { AllowsFor } from "./hosts.ts";
import type { WebhookSecrets } from "./secrets.ts";

export type WebhookServiceDeps = {
  clock: Clock;
  reads: WebhookReads;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  secrets: Pick<WebhookSecrets, "current">;
  allowsFor: AllowsFor;
};

/** The members of an endpoint that its account sets. `events`: separated by spaces. */
export type EndpointFields = { url: string; events: string; description: string; enabled: boolean };
/** The account, and who acts for it. `keySeq` null: an operator. `by`: the user of the console, for the audit log. */
export type Owner = Pick<Caller, "accountSeq" | "accountId"> & { keySeq: number | null; by?: Principal };
export type RotatedSecret = { secret: string; previousUntilMs: number | null };

/** The number of deliveries that are due now. `next`: the id of the last, if more follow. */
export type Recovery = { deliveries: number; next: string | null };

export type WebhookService = {
  submissionAddress: Addresses["ofSubmission"];
  create(owner: Owner, fields: EndpointFields): Promise<{ endpoint: EndpointRow; secret: string }>;
  list(owner: Owner): Promise<EndpointRow[]>;
  /** @throws ApiError `not_found` */
  find(owner: Owner, id: string): Promise<EndpointRow>;
  update(owner: Owner, id: string, fields: Partial<EndpointFields>): Promise<EndpointRow>;
  remove(owner: Owner, id: string): Promise<void>;
  rotate(owner: Owner, id: string, overlapMs: number): Promise<{ endpoint: EndpointRow } & RotatedSecret>;
  /** The present secret of an endpoint. @throws ApiError `not_found` */
  secret(owner: Owner, id: string): Promise<RotatedSecret>;
  defaultSecret(owner: Owner): Promise<RotatedSecret>;
  rotateDefault(owner: Owner, overlapMs: number): Promise<RotatedSecret>;
  /** @param after the id of the delivery before the page; null: the newest. @throws ApiError `invalid_request` for an unknown one */
  deliveries(owner: Owner, after: string | null, limit: number): Promise<DeliveryRow[]>;
  /** States of the last deliveries of each endpoint by its id, newest first. Only the newest deliveries of the account count. */
  outcomes(owner: Owner): Promise<Record<string, DeliveryState[]>>;
  /** @throws ApiError `not_found` */
  delivery(owner: Owner, id: string): Promise<DeliveryRow>;
  redeliver(owner: Owner, delivery: DeliveryRow): Promise<DeliveryRow>;
  /**
   * Makes the deliveries of an endpoint since a time due that have failed, oldest first, at most 10,000.
   * @param after the last delivery of the call before; null: the first call. @throws ApiError `invalid_request` for an unknown one
   */
  recover(owner: Owner, id: string, from: { sinceMs: number; after: string | null }): Promise<Recovery>;
  sendTest(owner: Owner, id: string): Promise<DeliveryRow>;
};

/** Deliveries of one transaction and of one call of a recovery. */
const PAGE = 1000;
const PAGES = 10;
/** Redeliveries, recoveries and tests of an account in a minute. */
const PER_MINUTE = 10;
const MINUTE_MS = 60_000;

const noEndpoint = () => refuse("not_found", "No webhook endpoint with this id on the account.");
const noDelivery = () => refuse("not_found", "No webhook delivery with this id on the account.");
const noCursor = () => refuse("invalid_request", "after: no webhook delivery with this id on the account.");
/** The principal of a mutation. A key is none: what an account changes with its own key is not audited. */
const byOf = ({ by }: Owner): { by?: Principal } => (by === undefined ? {} : { by });

/** Counts requests of an account in windows of one minute. */
const createLimit = (clock: Clock) => {
  const windows = new Map<number, { startedAtMs: number; taken: number }>();
  return (accountSeq: number): void => {
    const nowMs = clock.nowMs();
    for (const [seq, { startedAtMs }] of windows) if (nowMs - startedAtMs >= MINUTE_MS) windows.delete(seq);
    const window = windows.get(accountSeq) ?? { startedAtMs: nowMs, taken: 0 };
    windows.set(accountSeq, window);
    const retryAfterS = Math.ceil((window.startedAtMs + MINUTE_MS - nowMs) / 1000);
    if (window.taken >= PER_MINUTE)
      refuse("rate_limited", `More than ${PER_MINUTE} redeliveries, recoveries and tests in one minute.`, { retryAfterS });
    window.taken += 1;
  };
};

/** @throws ApiError `invalid_request` with status 409 for a change that the present state does not allow */
const requireDone = (outcome: AdminResult): Extract<AdminResult, { kind: "done" }> =>
  outcome.kind === "done" ? outcome : refuse("invalid_request", `${outcome.reason}.`, { status: 409 });

/** Deliveries of an account that are read for its outcomes, and those of one endpoint that are returned. */
const OUTCOMES_READ = 500;
const OUTCOMES_EACH = 10;

type EndpointService = Omit<WebhookService, "deliveries" | "outcomes" | "delivery" | "redeliver" | "recover" | "sendTest">;

const createEndpointService = ({ clock, reads, post, secrets, allowsFor }: WebhookServiceDeps): EndpointService => {
  const find = async ({ accountSeq }: Owner, id: string): Promise<EndpointRow> =>
    (await reads.webhookEndpoints(accountSeq)).find((row) => row.id === id) ?? noEndpoint();
  const secretOf = ({ id, secretVersion: version, previousSecretUntilMs }: EndpointRow): RotatedSecret => ({
    secret: secrets.current(id, { version, previousUntilMs: previousSecretUntilMs }),
    previousUntilMs: previousSecretUntilMs,
  });
  const { ofEndpoint, ofSubmission } = createAddresses(allowsFor);
  const defaultSecret = async ({ accountSeq, accountId }: Owner): Promise<RotatedSecret> => {
    const state = (await reads.defaultWebhookSecret(accountSeq)) ?? { version: 1, previousUntilMs: null };
    return { secret: secrets.current(accountId, state), previousUntilMs: state.previousUntilMs };
  };
  return {
    submissionAddress: ofSubmission,
    create: async (owner, fields) => {
      const url = ofEndpoint(owner, fields.url);
      const { accountSeq, keySeq } = owner;
      const id = newId("whe");
      const created = { id, accountSeq, keySeq, ...fields, url, ...byOf(owner), atMs: clock.nowMs() };
      requireDone(await post({ mutation: "create-webhook-endpoint", ...created }));
      const endpoint = await find(owner, id);
      return { endpoint, secret: secretOf(endpoint).secret };
    },
    list: ({ accountSeq }) => reads.webhookEndpoints(accountSeq),
    find,
    update: async (owner, id, fields) => {
      const former = await find(owner, id);
      const url = fields.url === undefined ? {} : { url: ofEndpoint(owner, fields.url, former) };
      const { accountSeq, keySeq } = owner;
      const changed = { id, accountSeq, keySeq, ...fields, ...url, ...byOf(owner), atMs: clock.nowMs() };
      requireDone(await post({ mutation: "set-webhook-endpoint", ...changed }));
      return await find(owner, id);
    },
    remove: async (owner, id) => {
      await find(owner, id);
      const { accountSeq } = owner;
      await post({ mutation: "delete-webhook-endpoint", id, accountSeq, ...byOf(owner), atMs: clock.nowMs() });
    },
    rotate: async (owner, id, overlapMs) => {
      await find(owner, id);
      const atMs = clock.nowMs();
      const { accountSeq } = owner;
      const rotated = { accountSeq, endpointId: id, overlapMs, ...byOf(owner), atMs };
      requireDone(await post({ mutation: "rotate-webhook-secret", ...rotated }));
      const endpoint = await find(owner, id);
      return { endpoint, ...secretOf(endpoint) };
    },
    secret: async (owner, id) => secretOf(await find(owner, id)),
    defaultSecret,
    rotateDefault: async (owner, overlapMs) => {
      const { accountSeq } = owner;
      const rotated = { accountSeq, endpointId: null, overlapMs, ...byOf(owner), atMs: clock.nowMs() };
      await post({ mutation: "rotate-webhook-secret", ...rotated });
      return await defaultSecret(owner);
    },
  };
};

const createDeliveryService = (
  { clock, reads, post }: WebhookServiceDeps,
  { find }: Pick<EndpointService, "find">,
): Omit<WebhookService, keyof EndpointService> => {
  const takeOne = createLimit(clock);
  const reread = async ({ accountSeq }: Owner, seq: number): Promise<DeliveryRow> => {
    const row = await reads.webhookDelivery(accountSeq, seq);
    if (row === undefined) throw new Error(`there is no webhook delivery ${seq}`);
    return row;
  };
  const requireEnabled = async (owner: Owner, id: string): Promise<EndpointRow> => {
    const endpoint = await find(owner, id);
    if (!endpoint.enabled) refuse("invalid_request", "The endpoint is disabled; enable it first.", { status: 409 });
    return endpoint;
  };

  const findDelivery = async ({ accountSeq }: Owner, id: string): Promise<DeliveryRow | undefined> => {
    const read = readDeliveryId(id);
    const row = read && (await reads.webhookDelivery(accountSeq, read.seq));
    return row && row.token === read.token ? row : undefined;
  };

  return {
    deliveries: async (owner, after, limit) => {
      const before = after === null ? null : ((await findDelivery(owner, after)) ?? noCursor());
      return await reads.webhookDeliveries(owner.accountSeq, before?.seq ?? null, limit);
    },
    outcomes: async ({ accountSeq }) => {
      const rows = await reads.webhookOutcomes(accountSeq, OUTCOMES_READ);
      const byEndpoint = [...Map.groupBy(rows, ({ endpointId }) => endpointId)];
      return Object.fromEntries(byEndpoint.map(([id, of]) => [id, of.slice(0, OUTCOMES_EACH).map(({ state }) => state)]));
    },
    delivery: async (owner, id) => (await findDelivery(owner, id)) ?? noDelivery(),
    redeliver: async (owner, { seq, endpointId }) => {
      takeOne(owner.accountSeq);
      const endpointSeq = endpointId === null ? null : (await requireEnabled(owner, endpointId)).seq;
      const { accountSeq } = owner;
      requireDone(await post({ mutation: "requeue-webhooks", accountSeq, deliverySeq: seq, endpointSeq, atMs: clock.nowMs() }));
      return await reread(owner, seq);
    },
    recover: async (owner, id, { sinceMs, after }) => {
      const { seq: endpointSeq, accountSeq } = await requireEnabled(owner, id);
      const before = after === null ? undefined : ((await findDelivery(owner, after)) ?? noCursor());
      takeOne(accountSeq);
      let afterSeq = Math.max(before?.seq ?? 0, leastSeqAt(sinceMs) - 1);
      let deliveries = 0;
      for (let page = 0; page < PAGES; page += 1) {
        const requeued = { accountSeq, endpointSeq, afterSeq, limit: PAGE, atMs: clock.nowMs() };
        const { seq, count = 0 } = requireDone(await post({ mutation: "requeue-webhooks", ...requeued }));
        deliveries += count;
        if (seq === undefined) return { deliveries, next: null };
        afterSeq = seq;
      }
      return { deliveries, next: deliveryId(afterSeq, (await reread(owner, afterSeq)).token) };
    },
    sendTest: async (owner, id) => {
      takeOne(owner.accountSeq);
      const { seq: endpointSeq, accountSeq } = await requireEnabled(owner, id);
      const { seq = 0 } = requireDone(
        await post({ mutation: "send-test-webhook", accountSeq, endpointSeq, atMs: clock.nowMs() }),
      );
      return await reread(owner, seq);
    },
  };
};

export const createWebhookService = (deps: WebhookServiceDeps): WebhookService => {
  const endpoints = createEndpointService(deps);
  return { ...endpoints, ...createDeliveryService(deps, endpoints) };
};
