// History of a generation as its client sees it, derived from its stored events.
import { messageOf } from "../../actors/generation/snapshot.ts";
import type { GenerationRecord, GenerationStatus } from "../domain/types.ts";
import type { GenerationEventType } from "../domain/webhooks.ts";
import type { StoredEvent } from "../store/store.ts";

/** A change that a poll shows. `sequence`: the version of the generation, 0 for its admission. `record`: the state after it. */
export type HistoryEvent = { sequence: number; type: GenerationEventType; atMs: number; record: GenerationRecord };

/** What changes for a client while a generation is open. */
type Shown = Pick<GenerationRecord, "status" | "message" | "attempts">;

const statusOf = (state: string): GenerationStatus => (state.split(".")[0] ?? "") as GenerationStatus;

const shownAfter = ({ event, stateAfter }: StoredEvent, before: Shown): Shown => ({
  status: statusOf(stateAfter),
  message: messageOf(stateAfter),
  // The same event ends a generation whose time is over; no attempt begins then.
  attempts: event.type === "begun" && stateAfter.startsWith("running.submitting") ? Number(event.n) : before.attempts,
});

const isSame = (a: Shown, b: Shown): boolean => a.status === b.status && a.message === b.message && a.attempts === b.attempts;

const OPEN = { costCredits: null, error: null, output: null, completedAtMs: null } as const;

/**
 * All changes of a generation that polls show, oldest first.
 * @param record read after the stored events, so that it is as new or newer
 */
export const historyOf = (record: GenerationRecord, stored: readonly StoredEvent[]): HistoryEvent[] => {
  let shown: Shown = { status: "queued", message: null, attempts: 0 };
  const events: HistoryEvent[] = [
    { sequence: 0, type: "generation.queued", atMs: record.createdAtMs, record: { ...record, ...OPEN, ...shown } },
  ];
  for (const line of stored) {
    const next = shownAfter(line, shown);
    if (isSame(shown, next)) continue;
    const isEnd = next.status === "succeeded" || next.status === "failed";
    events.push({
      sequence: line.version,
      type: next.status === shown.status ? "generation.updated" : `generation.${next.status}`,
      atMs: line.atMs,
      record: isEnd ? record : { ...record, ...OPEN, ...next },
    });
    shown = next;
  }
  return events;
};
