// Audits cancel requests against generation events, provider arrivals and the ends.
//
// After a cancellation nothing is begun, sent or bought.

import type { GenerationRecord } from "../../domain/types.ts";
import type { StoredEvent, StoreReads } from "../../store/store.ts";
import type { ClientLog, SentCancel } from "./clients.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Upstream } from "./upstream.ts";

export type CancelEvidence = {
  notebook: Pick<ClientLog, "cancels">;
  upstream: Pick<Upstream, "arrivals">;
  reads: Pick<StoreReads, "eventsOf">;
  /** Whether several nodes share the store. */
  isShared: boolean;
  situations: CoverageCounters;
};

/** Events after which an attempt exists, or its request is sent. */
const BEGINS: ReadonlySet<string> = new Set(["begun", "slotTaken", "woken"]);
/** The longest delay before an owner learns of a request, if it is cut off, stopped or dead and clocks differ. */
const MAX_UNHEARD_MS = 45 * 60_000;
/** The longest time that a submission of before takes to arrive, and a look-up by idempotency key. */
const MAX_TRAVEL_MS = 15 * 60_000;
const MAX_QUESTION_MS = 5_000;

const isCancelled = ({ status, error }: GenerationRecord): boolean => status === "failed" && error?.code === "cancelled";

/** Compares the events of a generation with its end. */
const auditEvents = (end: GenerationRecord, events: readonly StoredEvent[]): string[] => {
  const at = events.findIndex(({ event }) => event.type === "cancelRequested");
  const faults: string[] = [];
  if (at === -1) return isCancelled(end) ? [`${end.id}: cancelled, and no client had requested it`] : faults;
  const later = events.slice(at + 1);
  if (later.some(({ event }) => event.type === "cancelRequested")) faults.push(`${end.id}: cancelled twice on disk`);
  for (const { event } of later) if (BEGINS.has(event.type)) faults.push(`${end.id}: ${event.type} after its cancellation`);
  if (isCancelled(end) && end.costCredits !== 0) faults.push(`${end.id}: cancelled, and charged`);
  return faults;
};

/** Compares one response with the stored data. */
const auditAnswer = (
  { receivedAtMs, answer, refused }: SentCancel,
  end: GenerationRecord,
  events: readonly StoredEvent[],
  { isShared, upstream }: CancelEvidence,
): string[] => {
  if (refused === "already_ended") return isCancelled(end) ? [`${end.id}: already_ended for a cancelled generation`] : [];
  if (!answer) return [];
  const isOnDisk = events.some(({ event }) => event.type === "cancelRequested");
  if (answer.requestedAtMs === null)
    return isOnDisk && isCancelled(end) ? [] : [`${end.id}: answered as cancelled, and it is not`];
  const endedLate = (end.completedAtMs ?? Number.POSITIVE_INFINITY) > receivedAtMs + MAX_UNHEARD_MS;
  if (!isOnDisk && (!isShared || endedLate)) return [`${end.id}: a cancellation was acknowledged, and is not on disk`];
  const body = end.id.slice("gen_".length);
  const bought = upstream.arrivals.filter(
    ({ ref, atMs, verdict, isQuestion }) =>
      ref.startsWith(`${body}-`) &&
      verdict === "accepted" &&
      atMs > receivedAtMs + (isQuestion ? MAX_QUESTION_MS : MAX_TRAVEL_MS),
  );
  return isOnDisk ? bought.map(({ ref }) => `${ref}: bought after its cancellation`) : [];
};

const count = (end: GenerationRecord, events: readonly StoredEvent[], situations: CoverageCounters): void => {
  if (!events.some(({ event }) => event.type === "cancelRequested")) return;
  if (end.status === "succeeded") situations.count("cancelledDelivered");
  else situations.count(events.some(({ event }) => event.type === "slotTaken") ? "cancelledSent" : "cancelledUnsent");
};

export const auditCancels = async (evidence: CancelEvidence, ends: ReadonlyMap<string, GenerationRecord>): Promise<string[]> => {
  const { notebook, reads, situations } = evidence;
  const faults: string[] = [];
  for (const [id, mine] of Map.groupBy(notebook.cancels, (cancel) => cancel.id)) {
    const end = ends.get(id);
    if (!end) {
      faults.push(`${id}: cancelled, and not there`);
      continue;
    }
    const events = await reads.eventsOf(end.seq);
    count(end, events, situations);
    if (mine.length > 1) situations.count("cancelsRepeated");
    for (const cancel of mine) {
      if (cancel.refused === "already_ended") situations.count("cancelsRefused");
      if (!cancel.answer && cancel.refused === null) situations.count("cancelsUnanswered");
      faults.push(...auditAnswer(cancel, end, events, evidence));
    }
  }
  for (const end of ends.values())
    if (isCancelled(end) || notebook.cancels.some(({ id }) => id === end.id))
      faults.push(...auditEvents(end, await reads.eventsOf(end.seq)));
  return faults;
};
