// Parks a generation from what is on disk, without waking its actor: for one whose waking takes the process down.
import type { ApplyTransition, OpenGeneration } from "../../src/store/mutations.ts";
import { freezeParked } from "../generation/snapshot.ts";
import { PARKED_MESSAGE } from "../generation/types.ts";

/** The step that leaves everything as it is, does nothing more, and keeps the hold until a person has looked. */
export const parkingOf = (found: OpenGeneration, reason: string, atMs: number): ApplyTransition => {
  if (found.snapshot === null) throw new Error("a generation that never had a seat is not parked");
  return {
    mutation: "step",
    seq: found.seq,
    version: found.version + 1,
    atMs,
    event: { type: "parked", reason },
    stateAfter: "running.parked",
    snapshot: freezeParked(found.snapshot),
    message: PARKED_MESSAGE,
    attemptChanges: [],
    deadline: null,
  };
};
