// Webhook mutations: endpoints, secrets, results of tries, redeliveries and retention.
import { newDeliveryToken } from "../../domain/ids.ts";
import type { AdminResult } from "../../domain/mutations.ts";
import type { JsonObject } from "../../domain/types.ts";
import {
  type CreateWebhookEndpoint,
  type DeleteWebhookEndpoint,
  MAX_ENDPOINTS,
  type PendingDelivery,
  type RecordWebhookTries,
  type RequeueWebhooks,
  type RotateWebhookSecret,
  type SendTestWebhook,
  type SweepWebhooks,
  type UpdateWebhookEndpoint,
  type WebhookMutation,
} from "../../domain/webhooks.ts";
import { deliveriesOf, type OutboxEvent, pendingOf, type Subscriber } from "../decide/deliveries.ts";
import type { Dialect } from "./dialect.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { all, change, first, insert, type SqlProgram } from "./sql-program.ts";

/** Functions of the driver that webhook mutations use. */
export type WebhooksDeps = {
  /** Epoch of this opening, which delivers what it writes. */
  epoch: number;
  /** Returns the next row number of a delivery. */
  newDeliverySeq: (atMs: number) => number;
  /** Called before the enabled endpoints of an account change. */
  endpointsChanged: () => void;
};

/** Enabled endpoints of all accounts. */
export const SUBSCRIBERS =
  'SELECT account_seq AS "accountSeq", seq, events FROM webhook_endpoint WHERE deleted_at_ms IS NULL AND is_enabled = 1 ORDER BY seq';
const SUBSCRIBERS_OF =
  "SELECT seq, events FROM webhook_endpoint WHERE account_seq = ?1 AND deleted_at_ms IS NULL AND is_enabled = 1 ORDER BY seq";
export const INSERT_DELIVERY = `INSERT INTO webhook_delivery
    (seq, token, account_seq, endpoint_seq, type, generation_seq, data, sequence, created_at_ms, state, due_at_ms, epoch)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?9, ?10)`;

const COUNT = "SELECT count(*) AS n FROM webhook_endpoint WHERE account_seq = ?1 AND deleted_at_ms IS NULL";
const INSERT_ENDPOINT = `INSERT INTO webhook_endpoint (id, account_seq, key_seq, url, events, description, is_enabled, created_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING seq`;
const OWN = "id = ?1 AND account_seq = ?2 AND deleted_at_ms IS NULL";
const UPDATE_ENDPOINT = `UPDATE webhook_endpoint SET url = coalesce(?3, url), events = coalesce(?4, events),
  description = coalesce(?5, description) WHERE ${OWN}`;
const ENABLE = `UPDATE webhook_endpoint SET is_enabled = 1, disabled_reason = NULL, failing_since_ms = NULL, last_failure_at_ms = NULL
  WHERE ${OWN}`;
const DISABLE = `UPDATE webhook_endpoint SET is_enabled = 0 WHERE ${OWN}`;
const DELETE_ENDPOINT = `UPDATE webhook_endpoint SET is_enabled = 0, deleted_at_ms = ?3 WHERE ${OWN}`;
const ROTATE = `UPDATE webhook_endpoint SET secret_version = secret_version + 1, previous_secret_until_ms = ?3 WHERE ${OWN}
  RETURNING secret_version AS version`;
const ROTATE_DEFAULT = `INSERT INTO webhook_secret VALUES (?1, 2, ?2) ON CONFLICT (account_seq) DO UPDATE
  SET version = webhook_secret.version + 1, previous_until_ms = excluded.previous_until_ms RETURNING version`;

const member = (name: string, type: "bigint" | "text"): string => `CAST(t.value ->> '${name}' AS ${type})`;
/** The response to a delivery of an erased generation is not stored. */
const IS_ERASED = `EXISTS (SELECT 1 FROM webhook_delivery d JOIN generation g ON g.seq = d.generation_seq
      WHERE d.seq = ${member("seq", "bigint")} AND g.erased_at_ms IS NOT NULL)`;
const insertTries = ({ elements }: Dialect): string => `INSERT INTO webhook_try
    (delivery_seq, try_no, at_ms, status, answer, error, duration_ms)
  SELECT ${member("seq", "bigint")}, ${member("n", "bigint")}, ${member("at", "bigint")}, ${member("status", "bigint")},
    CASE WHEN ${IS_ERASED} THEN NULL ELSE ${member("answer", "text")} END, ${member("error", "text")}, ${member("ms", "bigint")}
  FROM ${elements("CAST(?1 AS text)", "t")}
  WHERE ${member("n", "bigint")} > 0 AND EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.seq = ${member("seq", "bigint")})
  ON CONFLICT DO NOTHING`;
const updateDeliveries = ({ elements, delivers }: Dialect): string => `UPDATE webhook_delivery AS d
  SET state = x.state, tries = d.tries + x.made, retry_no = x.retry, due_at_ms = x.due
  FROM (SELECT ${member("seq", "bigint")} AS seq, ${member("before", "bigint")} AS before, ${member("made", "bigint")} AS made,
      ${member("state", "text")} AS state, ${member("retry", "bigint")} AS retry, ${member("due", "bigint")} AS due
    FROM ${elements("CAST(?1 AS text)", "t")}) x
  WHERE d.seq = x.seq AND d.tries = x.before AND d.state = 'pending' AND ${delivers}`;
const updateConditions = ({ elements }: Dialect): string => `UPDATE webhook_endpoint AS e
  SET failing_since_ms = x.since, last_failure_at_ms = x.last,
    disabled_reason = CASE WHEN x.reason IS NULL OR e.is_enabled = 0 THEN e.disabled_reason ELSE x.reason END,
    is_enabled = CASE WHEN x.reason IS NULL THEN e.is_enabled ELSE 0 END
  FROM (SELECT ${member("seq", "bigint")} AS seq, ${member("since", "bigint")} AS since, ${member("last", "bigint")} AS last,
      ${member("reason", "text")} AS reason
    FROM ${elements("CAST(?1 AS text)", "t")}) x
  WHERE e.seq = x.seq AND e.deleted_at_ms IS NULL`;

const ENABLED = "SELECT seq FROM webhook_endpoint WHERE is_enabled = 1 AND deleted_at_ms IS NULL";
const MAKE_DUE = "UPDATE webhook_delivery SET state = 'pending', due_at_ms = ?1, retry_no = 0, epoch = ?2";
const REQUEUE_ONE = `${MAKE_DUE} WHERE account_seq = ?3 AND seq = ?4 AND (endpoint_seq IS NULL OR endpoint_seq IN (${ENABLED}))`;
const REQUEUE_MANY = `${MAKE_DUE} WHERE account_seq = ?3 AND seq > ?4 AND seq <= ?5 AND endpoint_seq = ?6
  AND state IN ('pending', 'failed') AND endpoint_seq IN (${ENABLED})`;
const END_OF_PAGE = `SELECT max(seq) AS seq FROM
  (SELECT seq FROM webhook_delivery WHERE account_seq = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3) page`;
const END_OF_OLD = "SELECT max(seq) AS seq FROM (SELECT seq FROM webhook_delivery WHERE seq < ?1 ORDER BY seq LIMIT ?2) page";
const SWEEP_URLS = `DELETE FROM generation_webhook WHERE generation_seq IN (SELECT generation_seq FROM webhook_delivery
  WHERE seq <= ?1 AND endpoint_seq IS NULL AND type <> 'generation.running')`;

/** The row of a test event. */
export const testDelivery = ({ accountSeq, endpointSeq, atMs }: SendTestWebhook, seq: number): PendingDelivery => ({
  ...{ seq, accountSeq, endpointSeq, url: null, type: "webhook.test", generationSeq: null, data: "{}", sequence: 1 },
  ...{ createdAtMs: atMs, tries: 0, retryNo: 0, dueAtMs: atMs },
});

/** An event without a generation. */
export type PlainEvent = Pick<OutboxEvent, "accountSeq" | "sequence" | "type" | "atMs"> & { data: JsonObject };
/** Adds an event to the outbox. @returns its deliveries */
export type AddEvent = (event: PlainEvent) => SqlProgram<readonly PendingDelivery[]>;

export const prepareAddEvent = ({ epoch, newDeliverySeq }: WebhooksDeps): AddEvent =>
  function* (event) {
    const subscribers = yield* all<Subscriber>(SUBSCRIBERS_OF, event.accountSeq);
    const whole = { ...event, data: JSON.stringify(event.data), generationSeq: null, url: null };
    const deliveries = deliveriesOf(whole, subscribers, () => newDeliverySeq(event.atMs));
    for (const { seq, token, accountSeq, endpointSeq, type, data, sequence, createdAtMs } of deliveries)
      yield* change(INSERT_DELIVERY, seq, token, accountSeq, endpointSeq, type, null, data, sequence, createdAtMs, epoch);
    return deliveries.map(pendingOf);
  };

const DONE: AdminResult = { kind: "done" };
const missing = (id: string) => new MutationRejected(`there is no webhook endpoint ${id}`);

const prepareEndpoints = ({ endpointsChanged }: WebhooksDeps) => {
  const create = function* (mutation: CreateWebhookEndpoint): SqlProgram<AdminResult> {
    const { id, accountSeq, keySeq, url, events, description, enabled, atMs } = mutation;
    const { n = 0 } = (yield* first<{ n: number }>(COUNT, accountSeq)) ?? {};
    if (n >= MAX_ENDPOINTS)
      throw new MutationRejected(`an account has at most ${MAX_ENDPOINTS} webhook endpoints; delete one first`);
    endpointsChanged();
    const row = [id, accountSeq, keySeq, url, events, description, enabled ? 1 : 0, atMs];
    return { kind: "done", seq: yield* insert(INSERT_ENDPOINT, ...row) };
  };
  const set = function* (mutation: UpdateWebhookEndpoint): SqlProgram<AdminResult> {
    const { id, accountSeq, url = null, events = null, description = null, enabled } = mutation;
    endpointsChanged();
    if ((yield* change(UPDATE_ENDPOINT, id, accountSeq, url, events, description)) === 0) throw missing(id);
    if (enabled !== undefined) yield* change(enabled ? ENABLE : DISABLE, id, accountSeq);
    return DONE;
  };
  const rotate = function* ({ accountSeq, endpointId, overlapMs, atMs }: RotateWebhookSecret): SqlProgram<AdminResult> {
    const untilMs = atMs + overlapMs;
    const rotated =
      endpointId === null
        ? yield* first<{ version: number }>(ROTATE_DEFAULT, accountSeq, untilMs)
        : yield* first<{ version: number }>(ROTATE, endpointId, accountSeq, untilMs);
    if (!rotated) throw missing(endpointId ?? "");
    return { kind: "done", seq: rotated.version };
  };
  const remove = function* ({ id, accountSeq, atMs }: DeleteWebhookEndpoint): SqlProgram<AdminResult> {
    endpointsChanged();
    if ((yield* change(DELETE_ENDPOINT, id, accountSeq, atMs)) === 0) throw missing(id);
    return DONE;
  };
  return { create, set, rotate, remove };
};

const prepareDeliveries = (dialect: Dialect, { epoch, newDeliverySeq, endpointsChanged }: WebhooksDeps) => {
  const [insertAll, updateAll, judgeAll] = [insertTries(dialect), updateDeliveries(dialect), updateConditions(dialect)];

  const record = function* ({ results, endpoints }: RecordWebhookTries): SqlProgram<AdminResult> {
    const rows = results.map(({ seq, triesBefore, made, state, retryNo, dueAtMs }) => ({
      ...{ seq, before: triesBefore, made: made ? 1 : 0, n: made ? triesBefore + 1 : 0, state, retry: retryNo, due: dueAtMs },
      ...(made ? { at: made.atMs, status: made.status, answer: made.answer, error: made.error, ms: made.durationMs } : {}),
    }));
    const json = JSON.stringify(rows);
    // First the deliveries, whose rows an erasure locks: a response that is stored afterwards sees the erasure.
    yield* change(updateAll, json, epoch);
    yield* change(insertAll, json);
    if (endpoints.length === 0) return DONE;
    if (endpoints.some(({ disabledReason }) => disabledReason !== null)) endpointsChanged();
    const conditions = endpoints.map(
      ({ endpointSeq: seq, failingSinceMs: since, lastFailureAtMs: last, disabledReason: reason }) => ({
        ...{ seq, since, last, reason },
      }),
    );
    yield* change(judgeAll, JSON.stringify(conditions));
    return DONE;
  };
  const requeue = function* (mutation: RequeueWebhooks): SqlProgram<AdminResult> {
    const { accountSeq, atMs } = mutation;
    if ("deliverySeq" in mutation) {
      if ((yield* change(REQUEUE_ONE, atMs, epoch, accountSeq, mutation.deliverySeq)) === 0)
        throw new MutationRejected("the endpoint of this delivery is disabled or deleted");
      return { kind: "done", count: 1 };
    }
    const { endpointSeq, afterSeq, limit } = mutation;
    const end = (yield* first<{ seq: number | null }>(END_OF_PAGE, accountSeq, afterSeq, limit))?.seq ?? null;
    if (end === null) return { kind: "done", count: 0 };
    return { kind: "done", seq: end, count: yield* change(REQUEUE_MANY, atMs, epoch, accountSeq, afterSeq, end, endpointSeq) };
  };
  const sendTest = function* (mutation: SendTestWebhook): SqlProgram<AdminResult> {
    const delivery = testDelivery(mutation, newDeliverySeq(mutation.atMs));
    const { seq, accountSeq, endpointSeq, type, data, sequence, createdAtMs } = delivery;
    const row = [seq, newDeliveryToken(), accountSeq, endpointSeq, type, null, data, sequence, createdAtMs, epoch];
    yield* change(INSERT_DELIVERY, ...row);
    return { kind: "done", seq, delivery };
  };
  const sweep = function* ({ beforeSeq, limit }: SweepWebhooks): SqlProgram<AdminResult> {
    const end = (yield* first<{ seq: number | null }>(END_OF_OLD, beforeSeq, limit))?.seq ?? null;
    if (end === null) return { kind: "done", count: 0 };
    yield* change(SWEEP_URLS, end);
    yield* change("DELETE FROM webhook_try WHERE delivery_seq <= ?1", end);
    return { kind: "done", count: yield* change("DELETE FROM webhook_delivery WHERE seq <= ?1", end) };
  };

  return { record, requeue, sendTest, sweep };
};

export const prepareWebhooks = (dialect: Dialect, deps: WebhooksDeps) => {
  const endpoints = prepareEndpoints(deps);
  const deliveries = prepareDeliveries(dialect, deps);
  return function* (mutation: WebhookMutation): SqlProgram<AdminResult> {
    switch (mutation.mutation) {
      case "create-webhook-endpoint":
        return yield* endpoints.create(mutation);
      case "set-webhook-endpoint":
        return yield* endpoints.set(mutation);
      case "delete-webhook-endpoint":
        return yield* endpoints.remove(mutation);
      case "rotate-webhook-secret":
        return yield* endpoints.rotate(mutation);
      case "record-webhook-tries":
        return yield* deliveries.record(mutation);
      case "requeue-webhooks":
        return yield* deliveries.requeue(mutation);
      case "send-test-webhook":
        return yield* deliveries.sendTest(mutation);
      case "sweep-webhooks":
        return yield* deliveries.sweep(mutation);
    }
  };
};
