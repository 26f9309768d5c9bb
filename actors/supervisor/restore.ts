// Takes a generation up from what is on disk: where it was, what it has to ask for again, and when that must be over.

import type { Deadline } from "../../src/domain/types.ts";
import type { OpenGeneration } from "../../src/store/mutations.ts";
import type { Leaf } from "../generation/machine.ts";
import { deadlineOf, effectsOnRestore, type GenerationSnapshot, leafOf, seatOf, thaw } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent } from "../generation/types.ts";
import { DEADLINE_GRACE_MS, hasGrace } from "./deadline-grace.ts";
import type { SupervisorDeps } from "./types.ts";

export type RestoredGeneration = {
  snapshot: GenerationSnapshot;
  leaf: Leaf;
  seat: string | null;
  /** Its deadline for a question that is asked at a time: one that passed while no process lived leaves room for the answer. */
  deadlineFrom: (askedAtMs: number) => Deadline | null;
  asks: Effect[];
};

/**
 * @param lastAliveMs when a process was last known to live before this one.
 * @throws when the snapshot is of a version or a state that is not known.
 */
export const restoreGeneration = (
  found: OpenGeneration,
  snapshot: string,
  nowMs: number,
  lastAliveMs: number,
): RestoredGeneration => {
  const resting = thaw(snapshot, found.plan);
  const deadline = deadlineOf(resting);
  // Or so soon after the start that there is no room for a response either: also after several starts in a row.
  const passedMeanwhile = deadline !== null && deadline.dueAtMs > lastAliveMs && deadline.dueAtMs <= nowMs + DEADLINE_GRACE_MS;
  return {
    snapshot: resting,
    leaf: leafOf(resting),
    seat: seatOf(resting),
    deadlineFrom: (askedAtMs) =>
      passedMeanwhile && hasGrace(deadline) ? { ...deadline, dueAtMs: askedAtMs + DEADLINE_GRACE_MS } : deadline,
    // A request that may have been out is never sent again without asking: that one is told `interrupted` instead.
    asks: effectsOnRestore(resting).filter((ask) => ask.type !== "ask.beginAttempt" && ask.type !== "ask.send"),
  };
};

/**
 * What a restored generation whose submission has no answer yet is told first; null where there is nothing to tell. The request may have
 * been out when the process ended: it is never sent again without asking first, unless the answer was in hand.
 */
export const interruptedBy = (
  seq: number,
  { leaf, snapshot }: Pick<RestoredGeneration, "leaf" | "snapshot">,
  { leftOutcome, clock }: Pick<SupervisorDeps, "leftOutcome" | "clock">,
): GenerationEvent | null => {
  const [wasSending, isConfirming] = [leaf === "running.submitting.sending", leaf === "running.confirming.acceptance"];
  const n = snapshot.context.current?.n;
  if (n === undefined || !(wasSending || isConfirming)) return null;
  const left = leftOutcome?.(seq, n, isConfirming);
  // Deadlines that follow from it count from now: the response may be older than the time that they allow.
  const atMs = clock.nowMs();
  if (left) return isConfirming && left.type === "rejected" ? { type: "provedAbsent", n, atMs } : { ...left, atMs };
  return wasSending ? { type: "interrupted", n, atMs } : null;
};

const PAGE = 200;

/** Reads everything that had not ended, page by page, and lets everything else have its turn between. Resolves with how many there are. */
export const readUnfinished = async (
  deps: { unfinished: (afterSeq: number, limit: number) => Promise<OpenGeneration[]>; breathe: () => Promise<void> },
  each: (found: OpenGeneration) => void,
): Promise<number> => {
  let count = 0;
  for (let afterSeq = 0; ; ) {
    const page = await deps.unfinished(afterSeq, PAGE);
    page.forEach(each);
    count += page.length;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return count;
    afterSeq = last.seq;
    await deps.breathe();
  }
};
