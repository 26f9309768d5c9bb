// A generation that the supervisor hosts: its seat, its place in the process, and where it stands since it was restored.
import { type GenerationSnapshot, leafOf } from "./generation-snapshot.ts";
import type { WatchedAttempt } from "./generation-words.ts";
import type { Host } from "./host.ts";
import type { Standing } from "./resuming.ts";

/** `isGranted`: it was given `seat`, and its `begun` is not on disk yet. `isCounted`: it has a place in the process. */
export type Held = {
  host: Host;
  seat: string | null;
  isGranted: boolean;
  isCounted: boolean;
  isSending: boolean;
  standing: Standing;
};

export const newHeld = (
  host: Host,
  of: { seat: string | null; isCounted: boolean; watched: readonly WatchedAttempt[] },
): Held => ({
  host,
  seat: of.seat,
  isGranted: false,
  isCounted: of.isCounted,
  isSending: false,
  standing: { hasEnded: false, hasLeft: false, watched: of.watched },
});

/** A step is on disk: where it stands from now on. */
export const standAfter = ({ standing }: Held, before: GenerationSnapshot, after: GenerationSnapshot): Standing => ({
  hasEnded: after.status === "done",
  hasLeft: standing.hasLeft || leafOf(after) !== leafOf(before) || after.context.tried !== before.context.tried,
  watched: after.context.watched,
});
