// Audits webhooks: every event reached its receivers, none was early, and stored deliveries match what receivers answered.
import { isSubscribed } from "../../domain/webhooks.ts";
import type { DeliveryRow, WebhookReads } from "../../store/webhook-reads.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { DueEvent, EventOracle, KnownEndpoint } from "./event-oracle.ts";
import { type ReceivedEvent, type Receivers, wasStopped } from "./webhook-receivers.ts";

export type WebhookEvidence = {
  webhooks: {
    receivers: Pick<Receivers, "log">;
    oracle: Pick<EventOracle, "events" | "endpoints" | "due" | "endpointAt" | "endedAtMs">;
  };
  reads: Pick<WebhookReads, "webhookDeliveries" | "webhookEndpoint">;
  accountSeqs: readonly number[];
  /** One node whose clock never jumped. */
  isClockRight: boolean;
  situations: CoverageCounters;
};

/** Pauses after failed tries, as the interface promises them, s. */
const PAUSES_S = [5, 60, 300, 1_800, 7_200, 18_000, 36_000, ...Array.from({ length: 6 }, () => 43_200)];
/** Time between the commit of an end and the last `running` event, without stops and with slow reads. */
const OUTDATED_AFTER_MS = 5_000;
/** Time in which a node learns that another has disabled an endpoint. */
const DISABLED_AFTER_MS = 30_000;
const ALL = 1_000_000;

const isSuccess = ({ answer }: Pick<ReceivedEvent, "answer">): boolean => typeof answer === "number" && answer < 300;
const isEnd = (type: string): boolean => type !== "generation.running";
const named = ({ url, type, generationId }: Pick<ReceivedEvent, "url" | "type" | "generationId">): string =>
  `${url}: ${type} of ${generationId}`;

/** Whether an event may never have been delivered to its endpoint. */
const mayBeMissing = (
  event: DueEvent,
  tries: readonly ReceivedEvent[],
  oracle: WebhookEvidence["webhooks"]["oracle"],
): boolean => {
  const { endpoint, generationId, type } = event;
  if (tries.some(({ answer }) => answer === 410)) return true;
  if (endpoint !== null && endpoint.disabledFromMs !== null) return true;
  if (isEnd(type)) return false;
  const isOver = oracle.endedAtMs(generationId) !== undefined;
  const ends = ["generation.succeeded", "generation.failed"] as const;
  return isOver && ends.some((end) => endpoint === null || isSubscribed(endpoint.events, end));
};

/** Every due event arrived, with the same id, sequence and time at every try. */
const auditEvent = (event: DueEvent, tries: readonly ReceivedEvent[], evidence: WebhookEvidence): string[] => {
  const { webhooks, situations } = evidence;
  const name = named(event);
  if (!tries.some(isSuccess))
    return mayBeMissing(event, tries, webhooks.oracle) ? [] : [`${name} was never delivered, after ${tries.length} tries`];
  if (isEnd(event.type)) situations.count("endsDelivered");
  if (tries.length > 1) situations.count("deliveriesRepeated");
  if (new Set(tries.map(({ by }) => by.name)).size > 1) situations.count("deliveredByAnotherProcess");
  const identities = new Set(tries.map(({ id, sequence, happened }) => `${id} ${sequence} ${happened}`));
  return identities.size > 1 ? [`${name} arrived as ${[...identities].join(" and as ")}`] : [];
};

/** Both events of a generation for an address are numbered in their order, and no `running` is sent after the end. */
const auditOrder = (received: readonly ReceivedEvent[], { webhooks, isClockRight }: WebhookEvidence): string[] => {
  const faults: string[] = [];
  for (const tries of Map.groupBy(received, ({ url, generationId }) => `${url} ${generationId}`).values()) {
    const running = tries.filter(({ type }) => !isEnd(type));
    const ends = tries.filter(({ type }) => isEnd(type));
    for (const early of running)
      for (const end of ends)
        if (early.sequence >= end.sequence || early.id === end.id) faults.push(`${named(end)} is numbered before running`);
    const [first] = running;
    const endedAtMs = first && webhooks.oracle.endedAtMs(first.generationId);
    const isEndDue = ["generation.succeeded", "generation.failed"].some(
      (type) => first && webhooks.oracle.due(first.url, type, first.generationId),
    );
    for (const late of running)
      if (isClockRight && isEndDue && endedAtMs !== undefined && late.sentAtMs > endedAtMs + OUTDATED_AFTER_MS)
        faults.push(`${named(late)} was sent ${late.sentAtMs - endedAtMs} ms after its end`);
  }
  return faults;
};

/** A process sends nothing again that was delivered, and writes the time of each try. */
const auditTries = (received: readonly ReceivedEvent[], isClockRight: boolean): string[] => {
  if (!isClockRight) return [];
  const faults: string[] = [];
  for (const tries of Map.groupBy(received, (one) => `${named(one)} ${one.by.name}`).values())
    for (const one of tries) {
      const isRepeated = tries.some((before) => isSuccess(before) && before.wasRead && before.atMs < one.sentAtMs);
      if (isRepeated) faults.push(`${named(one)} was sent again by ${one.by.name}, which had delivered it`);
      if (Math.abs(one.timestampMs - one.sentAtMs) > 60_000)
        faults.push(`${named(one)} states a time that is ${one.timestampMs - one.sentAtMs} ms off`);
    }
  return faults;
};
/** A disabled endpoint gets nothing, and 410 disables. */
const auditEndpoint = (endpoint: KnownEndpoint, rows: readonly DeliveryRow[], received: readonly ReceivedEvent[]): string[] => {
  const faults: string[] = [];
  const { url, disabledFromMs, disabledReason, wasReEnabled, isDeleted } = endpoint;
  const isGone = rows.some(({ endpointId, tries }) => endpointId === endpoint.id && tries.some(({ status }) => status === 410));
  if (isGone && !wasReEnabled && !isDeleted && disabledFromMs === null)
    faults.push(`${url}: returned 410, and the endpoint is enabled`);
  if (disabledReason !== null && !isGone) faults.push(`${url}: disabled without a 410: ${disabledReason}`);
  for (const one of received)
    if (one.url === url && disabledFromMs !== null && one.sentAtMs > disabledFromMs + DISABLED_AFTER_MS && !wasStopped(one))
      faults.push(`${named(one)} was sent ${one.sentAtMs - disabledFromMs} ms after its endpoint was disabled`);
  return faults;
};

/** The stored deliveries: what is marked as delivered was, nothing is pending, and the pauses are those of the schedule. */
const auditRow = (
  row: DeliveryRow,
  tries: readonly ReceivedEvent[],
  endpoint: KnownEndpoint | undefined,
  isClockRight: boolean,
): string[] => {
  const { url, type, generationId, state } = row;
  const name = `${url}: ${type} of ${generationId}`;
  const faults: string[] = [];
  if (state === "delivered" && !tries.some(isSuccess)) faults.push(`${name} is marked as delivered, and its receiver got none`);
  if (state === "failed" && !tries.some(({ answer }) => answer === 410))
    faults.push(`${name} failed after ${tries.length} tries`);
  if (state === "pending" && endpoint?.disabledFromMs === undefined) faults.push(`${name} is pending at the end`);
  if (state === "pending" && endpoint?.disabledFromMs === null) faults.push(`${name} is pending at the end`);
  for (const [at, { atMs }] of row.tries.entries()) {
    const pauseMs = atMs - (row.tries[at - 1]?.atMs ?? Number.NEGATIVE_INFINITY);
    if (isClockRight && pauseMs < (PAUSES_S[at - 1] ?? 0) * 1000) faults.push(`${name} was tried again after ${pauseMs} ms`);
  }
  return faults;
};

export const auditWebhooks = async (evidence: WebhookEvidence): Promise<string[]> => {
  const { webhooks, reads, isClockRight } = evidence;
  const received = webhooks.receivers.log;
  const byName = Map.groupBy(received, named);
  const faults = webhooks.oracle.events().flatMap((event) => auditEvent(event, byName.get(named(event)) ?? [], evidence));
  const rows = (await Promise.all(evidence.accountSeqs.map((seq) => reads.webhookDeliveries(seq, null, ALL)))).flat();
  for (const row of rows) {
    const tries = byName.get(`${row.url}: ${row.type} of ${row.generationId}`) ?? [];
    faults.push(...auditRow(row, tries, webhooks.oracle.endpointAt(row.url), isClockRight));
  }
  for (const endpoint of webhooks.oracle.endpoints()) faults.push(...auditEndpoint(endpoint, rows, received));
  return [...faults, ...auditOrder(received, evidence), ...auditTries(received, isClockRight)];
};
