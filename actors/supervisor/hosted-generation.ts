// State of a generation that the supervisor hosts: its place in the run queue and its progress since the restore.
import { isSameEffect } from "../generation/apply-event.ts";
import { deadlineOf, entryEffectOf, type GenerationSnapshot, isSameCommand, leafOf } from "../generation/snapshot.ts";
import type { Effect, WatchedAttempt } from "../generation/types.ts";
import type { ActorHost } from "./actor-host.ts";
import type { ResumeEntry } from "./resume-queue.ts";

/**
 * `isGranted`: it has the slot, and its `begun` event is not committed yet. `isCounted`: it counts as running in this
 * process.
 */
export type HostedGeneration = {
  host: ActorHost;
  queueRoute: string | null;
  isGranted: boolean;
  isCounted: boolean;
  isSending: boolean;
  standing: ResumeEntry;
};

export const newHostedGeneration = (
  host: ActorHost,
  of: { queueRoute: string | null; isCounted: boolean; watched: readonly WatchedAttempt[] },
): HostedGeneration => ({
  host,
  queueRoute: of.queueRoute,
  isGranted: false,
  isCounted: of.isCounted,
  isSending: false,
  standing: { hasEnded: false, hasLeft: false, hasNewDeadline: false, watched: of.watched },
});

/** Updates the state after the commit of a transition. A state that is entered again performs its effect again. */
export const stateAfter = (
  { standing }: HostedGeneration,
  before: GenerationSnapshot,
  after: GenerationSnapshot,
  effects: readonly Effect[],
): ResumeEntry => {
  const entry = entryEffectOf(after);
  const isEntered =
    leafOf(after) !== leafOf(before) ||
    after.context.tried !== before.context.tried ||
    (entry !== null && effects.some((effect) => isSameEffect(effect, entry)));
  return {
    hasEnded: after.status === "done",
    hasLeft: standing.hasLeft || isEntered,
    hasNewDeadline: standing.hasNewDeadline || !isSameCommand(deadlineOf(before), deadlineOf(after)),
    watched: after.context.watched,
  };
};

/** Whether it counts as running. A queued generation with pinned inputs has an actor before it runs. */
export const isRunning = (held: HostedGeneration | undefined): boolean => held?.isCounted ?? false;

/** Number of waiting generations that have an actor and do not count as running. */
export const countHosted = (inLine: Iterable<{ seq: number }>, of: (seq: number) => HostedGeneration | undefined): number => {
  let count = 0;
  for (const { seq } of inLine) if (of(seq)?.isCounted === false) count += 1;
  return count;
};
