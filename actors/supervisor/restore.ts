// Restores a generation from its stored state: state, pending effects and deadline.

import type { OpenGeneration } from "../../src/domain/transition.ts";
import type { Deadline } from "../../src/domain/types.ts";
import type { Leaf } from "../generation/machine.ts";
import { deadlineOf, effectsOnRestore, type GenerationSnapshot, leafOf, queueRouteOf, thaw } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent } from "../generation/types.ts";
import { DEADLINE_GRACE_MS, hasGrace } from "./deadline-grace.ts";
import type { SupervisorDeps } from "./types.ts";

export type RestoredGeneration = {
  snapshot: GenerationSnapshot;
  leaf: Leaf;
  queueRoute: string | null;
  /** Its deadline for effects performed at `askedAtMs`. A deadline that passed while no process lived gets the grace. */
  deadlineFrom: (requestedAtMs: number) => Deadline | null;
  effects: Effect[];
};

/**
 * @param lastAliveMs last known time at which a process was alive before this one.
 * @throws for a snapshot of an unknown version or state.
 */
export const restoreGeneration = (
  found: OpenGeneration,
  snapshot: string,
  nowMs: number,
  lastAliveMs: number,
): RestoredGeneration => {
  const resting = thaw(snapshot, found.plan);
  const deadline = deadlineOf(resting);
  // This includes a deadline so soon after the start that no response can arrive in time, also after several starts in a row.
  const passedMeanwhile = deadline !== null && deadline.dueAtMs > lastAliveMs && deadline.dueAtMs <= nowMs + DEADLINE_GRACE_MS;
  return {
    snapshot: resting,
    leaf: leafOf(resting),
    queueRoute: queueRouteOf(resting),
    deadlineFrom: (requestedAtMs) =>
      passedMeanwhile && hasGrace(deadline) ? { ...deadline, dueAtMs: requestedAtMs + DEADLINE_GRACE_MS } : deadline,
    // A request that may have been sent is not sent again without a confirmation. The generation receives `interrupted` instead.
    effects: effectsOnRestore(resting).filter((effect) => effect.type !== "effect.beginAttempt" && effect.type !== "effect.send"),
  };
};

/**
 * The first event of a restored generation whose submission has no response; null if there is none. The request may have been
 * sent when the process ended. It is confirmed before any further sending, unless its response was spooled.
 */
export const interruptedBy = (
  seq: number,
  { leaf, snapshot }: Pick<RestoredGeneration, "leaf" | "snapshot">,
  { leftOutcome, clock }: Pick<SupervisorDeps, "leftOutcome" | "clock">,
): GenerationEvent | null => {
  const [wasSending, isConfirming] = [leaf === "running.submitting.sending", leaf === "running.confirming.acceptance"];
  const { current } = snapshot.context;
  if (current === null || !(wasSending || isConfirming)) return null;
  const { n, sentAtMs } = current;
  const left = leftOutcome?.(seq, n, { sentAtMs, canBeLookedUp: isConfirming });
  // Deadlines that follow from it start now, because the response may be older than the time that they allow.
  const atMs = clock.nowMs();
  if (left) return isConfirming && left.type === "rejected" ? { type: "provedAbsent", n, atMs } : { ...left, atMs };
  return wasSending ? { type: "interrupted", n, atMs } : null;
};

const PAGE = 200;

/** Reads all open generations page by page and yields between pages. Resolves with their number. */
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
