// Parks a generation from its stored state without restoring its actor, which would crash the process.
import type { ApplyTransition, OpenGeneration } from "../../src/domain/transition.ts";
import { freezeParked } from "../generation/snapshot.ts";
import { PARKED_MESSAGE } from "../generation/types.ts";

/** The transition that parks a generation: it changes nothing else and keeps the hold until an operator decides. */
export const parkingOf = (found: OpenGeneration, reason: string, atMs: number): ApplyTransition => {
  if (found.snapshot === null) throw new Error("a generation that never left the run queue cannot be parked");
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
