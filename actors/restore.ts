// Takes a generation up from what is on disk: where it was, what it has to ask for again, and when that must be over.
import type { Unfinished } from "../src/deeds.ts";
import type { Command } from "../src/terms.ts";
import type { Leaf } from "./generation.ts";
import { deadlineOf, type GenerationSnapshot, leafOf, seatOf, standingAsks, thaw } from "./generation-snapshot.ts";
import type { Ask } from "./generation-words.ts";

export type TakenUp = { snapshot: GenerationSnapshot; leaf: Leaf; seat: string | null; deadline: Command | null; asks: Ask[] };

/**
 * What was bought may have been delivered while the service was down: a deadline that passed meanwhile leaves this long for one
 * look before it counts. It is not a new deadline: the stored one stays as it is.
 */
const LAST_LOOK_MS = 10_000;

/** @throws when the snapshot is of a version or a state that is not known. */
export const takeUp = (found: Unfinished, snapshot: string, nowMs: number): TakenUp => {
  const resting = thaw(snapshot, found.plan);
  const deadline = deadlineOf(resting);
  const mayLook = deadline?.kind === "attempt" || deadline?.kind === "collect";
  return {
    snapshot: resting,
    leaf: leafOf(resting),
    seat: seatOf(resting),
    deadline: deadline && mayLook ? { ...deadline, dueAtMs: Math.max(deadline.dueAtMs, nowMs + LAST_LOOK_MS) } : deadline,
    // A request that may have been out is never sent again without asking: that one is told `interrupted` instead.
    asks: standingAsks(resting).filter((ask) => ask.type !== "ask.beginAttempt" && ask.type !== "ask.send"),
  };
};
