// Turns the events that a generation took into the mutation to commit and the effects to perform.

import type { ApplyTransition, AttemptChange, EarlierEvent, Settlement } from "../../src/domain/transition.ts";
import type { GenerationStatus, Json } from "../../src/domain/types.ts";
import { deadlineOf, entryEffectOf, freeze, type GenerationSnapshot, isSameCommand, leafOf, messageOf } from "./snapshot.ts";
import type { Effect, GenerationEvent, MachineOutput } from "./types.ts";

/** A mutation to post and the effects to perform after its commit. */
export type Step = { mutation: ApplyTransition; effects: Effect[]; hasEnded: boolean };

const statusOf = (snapshot: GenerationSnapshot): GenerationStatus =>
  typeof snapshot.value === "string" ? (snapshot.value as GenerationStatus) : "running";

/** The request and the route options are stored in the attempt row, so the stored event omits them. */
const journalForm = (event: GenerationEvent): ApplyTransition["event"] => {
  const { atMs: _, ...reported } = event;
  if ("request" in reported) {
    const { request: __, ...rest } = reported;
    return rest;
  }
  if (!("spec" in reported)) return reported as unknown as ApplyTransition["event"] & Json;
  const { options: __, ...spec } = reported.spec;
  return { ...reported, spec } as unknown as ApplyTransition["event"] & Json;
};

/** An event that the statechart took, the state after it, and what it emitted. */
export type Taken = { event: GenerationEvent; after: GenerationSnapshot; outputs: readonly MachineOutput[] };

const earlierForm = ({ event, after }: Taken): EarlierEvent => ({
  event: journalForm(event),
  stateAfter: leafOf(after),
  snapshot: () => freeze(after),
});

/** Whether an output is this effect, of the same attempt. */
export const isSameEffect = (output: MachineOutput, effect: Effect): boolean =>
  output.type === effect.type && ("n" in output ? output.n : null) === ("n" in effect ? effect.n : null);

/**
 * What earlier events emitted and still counts: the effect of a state that has been left again is not performed, and nothing is
 * downloaded for a generation that has ended.
 */
const standingOutputs = (earlier: readonly Taken[], { after: end }: Taken): MachineOutput[] =>
  earlier.flatMap(({ after, outputs }) => {
    const left = leafOf(after) === leafOf(end) ? null : entryEffectOf(after);
    const isOver = (output: MachineOutput) =>
      (left !== null && isSameEffect(output, left)) || (end.status === "done" && output.type === "effect.collectAgain");
    return outputs.filter((output) => !isOver(output));
  });

/**
 * Returns the transition from `before` through all events, or null if nothing changed and nothing was emitted.
 * @param version of the generation before them. @param taken at least one. @param keepFilesMs retention of the result files after
 * success.
 */
export const applyEvents = (
  seq: number,
  version: number,
  before: GenerationSnapshot,
  taken: readonly Taken[],
  keepFilesMs: number,
): Step | null => {
  const earlier = taken.slice(0, -1);
  const last = taken.at(-1);
  if (!last) return null;
  const { event, after } = last;
  const outputs = [...standingOutputs(earlier, last), ...last.outputs];
  if (before === after && outputs.length === 0) return null;
  const effects: Effect[] = [];
  const changes = new Map<number, AttemptChange>();
  let settlement: Settlement | undefined;
  let pinned: ApplyTransition["pinned"];
  for (const output of outputs) {
    switch (output.type) {
      case "note.attempt":
        changes.set(output.change.n, { ...changes.get(output.change.n), ...output.change });
        break;
      case "note.pinned":
        pinned = output.copies;
        break;
      case "note.capture":
        settlement = {
          kind: "capture",
          n: output.n,
          credits: output.credits,
          output: output.output,
          filesExpireAtMs: event.atMs + keepFilesMs,
        };
        break;
      case "note.release":
        settlement = { kind: "release", error: output.error };
        break;
      default:
        effects.push(output);
    }
  }

  const hasEnded = after.status === "done";
  const stateAfter = leafOf(after);
  const message = messageOf(stateAfter);
  const deadline = deadlineOf(after);
  const keepsDeadline = isSameCommand(deadline, deadlineOf(before));
  return {
    mutation: {
      mutation: "step",
      seq,
      version: version + taken.length,
      atMs: event.atMs,
      ...(earlier.length === 0 ? {} : { earlier: earlier.map(earlierForm) }),
      event: journalForm(event),
      stateAfter,
      snapshot: hasEnded ? null : freeze(after),
      attemptChanges: [...changes.values()],
      ...(statusOf(before) === statusOf(after) ? {} : { status: statusOf(after) }),
      ...(messageOf(leafOf(before)) === message ? {} : { message }),
      ...(before.context.tried === after.context.tried ? {} : { attempts: after.context.tried }),
      ...(keepsDeadline || hasEnded ? {} : { deadline }),
      ...(settlement ? { settlement } : {}),
      ...(pinned ? { pinned } : {}),
    },
    effects,
    hasEnded,
  };
};

/** The same for one event. @param version of the generation after it */
export const applyEvent = (
  seq: number,
  version: number,
  event: GenerationEvent,
  before: GenerationSnapshot,
  after: GenerationSnapshot,
  outputs: readonly MachineOutput[],
  keepFilesMs: number,
): Step | null => applyEvents(seq, version - 1, before, [{ event, after, outputs }], keepFilesMs);
