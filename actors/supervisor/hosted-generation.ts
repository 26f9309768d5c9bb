// A generation that the supervisor hosts: its seat, its place in the process, and where it stands since it was restored.
import { type GenerationSnapshot, leafOf } from "../generation/snapshot.ts";
import type { WatchedAttempt } from "../generation/types.ts";
import type { ActorHost } from "./actor-host.ts";
import type { ResumeEntry } from "./resume-queue.ts";

/** `isGranted`: it was given `seat`, and its `begun` is not on disk yet. `isCounted`: it has a place in the process. */
export type HostedGeneration = {
  host: ActorHost;
  seat: string | null;
  isGranted: boolean;
  isCounted: boolean;
  isSending: boolean;
  standing: ResumeEntry;
};

export const newHostedGeneration = (
  host: ActorHost,
  of: { seat: string | null; isCounted: boolean; watched: readonly WatchedAttempt[] },
): HostedGeneration => ({
  host,
  seat: of.seat,
  isGranted: false,
  isCounted: of.isCounted,
  isSending: false,
  standing: { hasEnded: false, hasLeft: false, watched: of.watched },
});

/** A step is on disk: where it stands from now on. */
export const standAfter = (
  { standing }: HostedGeneration,
  before: GenerationSnapshot,
  after: GenerationSnapshot,
): ResumeEntry => ({
  hasEnded: after.status === "done",
  hasLeft: standing.hasLeft || leafOf(after) !== leafOf(before) || after.context.tried !== before.context.tried,
  watched: after.context.watched,
});

/** Whether it has its place in the process already; one whose inputs were pinned has an actor before it runs. */
export const isRunning = (held: HostedGeneration | undefined): boolean => held?.isCounted ?? false;

/** Of those in line how many have an actor and no place in the process. */
export const countHosted = (inLine: Iterable<{ seq: number }>, of: (seq: number) => HostedGeneration | undefined): number => {
  let count = 0;
  for (const { seq } of inLine) if (of(seq)?.isCounted === false) count += 1;
  return count;
};
