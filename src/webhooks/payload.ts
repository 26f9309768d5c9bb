// Body and id of a webhook request.
import type { GenerationRecord } from "../domain/types.ts";
import { isSubscribed, type PendingDelivery } from "../domain/webhooks.ts";

/** Length of the prefix of an id, such as `gen_`. */
const PREFIX_CHARS = 4;

/** The id of an event about an object, such as a generation or a purchase. */
export const eventIdOf = (objectId: string, sequence: number): string => `evt_${objectId.slice(PREFIX_CHARS)}_${sequence}`;

/** The id of `credits.low`. A changed threshold can make a balance low twice after the same transfer. @param sequence the transfer */
export const lowBalanceEventId = (accountSeq: number, sequence: number, atMs: number): string =>
  `evt_low_${accountSeq}_${sequence}_${atMs.toString(36)}`;

/** The same for every try and every endpoint of an event, so that a receiver recognizes repeats. */
export const eventId = (delivery: PendingDelivery, record: GenerationRecord | undefined): string => {
  const { type, accountSeq, sequence, seq, data, createdAtMs } = delivery;
  if (type === "credits.low") return lowBalanceEventId(accountSeq, sequence, createdAtMs);
  const id = record?.id ?? (JSON.parse(data ?? "{}") as { id?: string }).id;
  return id === undefined ? `evt_test_${seq}` : eventIdOf(id, sequence);
};

/** Whether a `running` event is outdated, because its receiver also gets the event of the end. @param events of its endpoint */
export const isOutdated = ({ type }: PendingDelivery, { status }: GenerationRecord, events: string): boolean =>
  type === "generation.running" &&
  (status === "succeeded" || status === "failed") &&
  isSubscribed(events, `generation.${status}`);

/** Whether a record is older than an event of its generation. */
export const isBehind = ({ type }: PendingDelivery, { status, completedAtMs }: GenerationRecord): boolean =>
  type === "generation.running" ? status === "queued" : completedAtMs === null;

/** The generation at the time of the event. An ended generation is the one that a poll returns. */
export const recordAt = ({ type }: PendingDelivery, record: GenerationRecord): GenerationRecord =>
  type !== "generation.running"
    ? record
    : { ...record, status: "running", message: null, costCredits: null, error: null, output: null, completedAtMs: null };

/** @param data JSON of the event's object */
export const bodyOf = (
  { type, createdAtMs, sequence }: Pick<PendingDelivery, "type" | "createdAtMs" | "sequence">,
  data: string,
): string => `{"type":"${type}","timestamp":"${new Date(createdAtMs).toISOString()}","sequence":${sequence},"data":${data}}`;
