// Queries of webhook endpoints, secrets and deliveries.
import type { PendingDelivery, WebhookTry } from "../../../domain/webhooks.ts";
import type { DefaultSecret, DeliveryRow, EndpointOutcome, EndpointRow, WebhookReads } from "../../webhook-reads.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";

const ENDPOINT = `SELECT e.seq, e.id, e.account_seq AS "accountSeq", a.id AS "accountId", e.key_seq AS "keySeq", e.url, e.events,
    e.description, e.is_enabled AS enabled, e.disabled_reason AS "disabledReason", e.secret_version AS "secretVersion",
    e.previous_secret_until_ms AS "previousSecretUntilMs", e.failing_since_ms AS "failingSinceMs",
    e.last_failure_at_ms AS "lastFailureAtMs", e.created_at_ms AS "createdAtMs"
  FROM webhook_endpoint e JOIN account a ON a.seq = e.account_seq WHERE e.deleted_at_ms IS NULL AND`;
const ENDPOINTS = `${ENDPOINT} e.account_seq = ?1 ORDER BY e.seq DESC`;
const ENDPOINT_BY_SEQ = `${ENDPOINT} e.seq = ?1`;
const DEFAULT_SECRET = `SELECT a.id AS "accountId", coalesce(s.version, 1) AS version, s.previous_until_ms AS "previousUntilMs"
  FROM account a LEFT JOIN webhook_secret s ON s.account_seq = a.seq WHERE a.seq = ?1`;

/** The expression of the index `webhook_delivery_due`. */
const LANE = "coalesce(d.endpoint_seq, -d.account_seq)";
const NAMED_URL = "LEFT JOIN generation_webhook w ON w.generation_seq = d.generation_seq AND d.endpoint_seq IS NULL";
// A delivery of a deleted endpoint is never sent.
const DELIVERY = `SELECT d.seq, d.token, e.id AS "endpointId", coalesce(e.url, w.url, '') AS url, d.type, g.id AS "generationId",
    d.sequence, d.created_at_ms AS "createdAtMs", d.due_at_ms AS "dueAtMs",
    CASE WHEN d.state = 'pending' AND e.deleted_at_ms IS NOT NULL THEN 'dropped' ELSE d.state END AS state
  FROM webhook_delivery d LEFT JOIN webhook_endpoint e ON e.seq = d.endpoint_seq LEFT JOIN generation g ON g.seq = d.generation_seq
  ${NAMED_URL} WHERE d.account_seq = ?1`;
const DELIVERIES = `${DELIVERY} AND d.seq < ?2 ORDER BY d.seq DESC LIMIT ?3`;
const DELIVERY_BY_SEQ = `${DELIVERY} AND d.seq = ?2`;

const OUTCOMES = `SELECT e.id AS "endpointId", d.state
  FROM (SELECT seq, endpoint_seq, state FROM webhook_delivery WHERE account_seq = ?1 ORDER BY seq DESC LIMIT ?2) d
  JOIN webhook_endpoint e ON e.seq = d.endpoint_seq WHERE e.deleted_at_ms IS NULL ORDER BY d.seq DESC`;
/** The columns of a `PendingDelivery`. */
const EVENT = `SELECT d.seq, d.account_seq AS "accountSeq", d.endpoint_seq AS "endpointSeq", w.url, d.type,
    d.generation_seq AS "generationSeq", d.data, d.sequence, d.created_at_ms AS "createdAtMs", d.tries, d.retry_no AS "retryNo"`;
const EVENT_BY_SEQ = `${EVENT}, coalesce(d.due_at_ms, d.created_at_ms) AS "dueAtMs"
  FROM webhook_delivery d ${NAMED_URL} WHERE d.account_seq = ?1 AND d.seq = ?2`;

type TryRow = WebhookTry & { seq: number };
type StoredEndpoint = Omit<EndpointRow, "enabled"> & { enabled: number };
const toEndpoint = (row: StoredEndpoint): EndpointRow => ({ ...row, enabled: row.enabled === 1 });

/** @param owned condition on `webhook_delivery d`: this node delivers it */
export const webhookReads = (query: Query, { items, json }: Dialect, owned: string): WebhookReads => {
  const pending = `webhook_delivery d WHERE d.state = 'pending' AND ${owned}`;
  // Steps from queue to queue in the index, for any number of rows.
  const lanes = `WITH RECURSIVE lane (n) AS (
      SELECT (SELECT ${LANE} FROM ${pending} ORDER BY ${LANE} LIMIT 1)
      UNION ALL SELECT (SELECT ${LANE} FROM ${pending} AND ${LANE} > lane.n ORDER BY ${LANE} LIMIT 1) FROM lane WHERE lane.n IS NOT NULL)
    SELECT lane.n AS lane, coalesce(e.account_seq, -lane.n) AS "accountSeq" FROM lane
    LEFT JOIN webhook_endpoint e ON e.seq = lane.n WHERE lane.n IS NOT NULL AND (lane.n < 0 OR e.is_enabled = 1)
    ORDER BY lane.n`;
  const next = `${EVENT}, d.due_at_ms AS "dueAtMs"
    FROM webhook_delivery d ${NAMED_URL} WHERE d.state = 'pending' AND ${owned} AND ${LANE} = ?1 ORDER BY d.due_at_ms, d.seq LIMIT ?2`;
  const tries = `SELECT delivery_seq AS seq, at_ms AS "atMs", status, answer, error, duration_ms AS "durationMs" FROM webhook_try
    WHERE delivery_seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")}) ORDER BY delivery_seq, try_no`;

  const withTries = async (rows: readonly Omit<DeliveryRow, "tries">[]): Promise<DeliveryRow[]> => {
    if (rows.length === 0) return [];
    const found = await query<TryRow>(tries, JSON.stringify(rows.map(({ seq }) => seq)));
    const bySeq = Map.groupBy(found, ({ seq }) => seq);
    return rows.map((row) => ({ ...row, tries: (bySeq.get(row.seq) ?? []).map(({ seq: _, ...made }) => made) }));
  };

  return {
    webhookEndpoints: async (accountSeq) => (await query<StoredEndpoint>(ENDPOINTS, accountSeq)).map(toEndpoint),
    webhookEndpoint: async (seq) => (await query<StoredEndpoint>(ENDPOINT_BY_SEQ, seq)).map(toEndpoint)[0],
    defaultWebhookSecret: async (accountSeq) => (await query<DefaultSecret>(DEFAULT_SECRET, accountSeq))[0],
    webhookLanes: async () => [...(await query<{ lane: number; accountSeq: number }>(lanes))],
    nextWebhooks: async (lane, limit) => [...(await query<PendingDelivery>(next, lane, limit))],
    webhookDeliveries: async (accountSeq, beforeSeq, limit) =>
      withTries(await query(DELIVERIES, accountSeq, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit)),
    webhookDelivery: async (accountSeq, seq) => (await withTries(await query(DELIVERY_BY_SEQ, accountSeq, seq)))[0],
    webhookEvent: async (accountSeq, seq) => (await query<PendingDelivery>(EVENT_BY_SEQ, accountSeq, seq))[0],
    webhookOutcomes: async (accountSeq, limit) => [...(await query<EndpointOutcome>(OUTCOMES, accountSeq, limit))],
  };
};
