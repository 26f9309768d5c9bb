// Applies one event to a statechart in any state, for replays, the playground and tests.
import { type AnyMachineSnapshot, createActor, type EventObject } from "xstate";
import { guardName, transitionId } from "../chart/chart.ts";
import { generationMachine } from "../generation/machine.ts";
import type { GenerationSnapshot } from "../generation/snapshot.ts";
import type { GenerationEvent, GenerationInput, MachineOutput } from "../generation/types.ts";

/** A considered transition, in order; the first one whose guard holds is taken. */
export type Considered = { transition: string; guard: string; holds: boolean };
export type Tried<S = GenerationSnapshot> = {
  after: S;
  outputs: MachineOutput[];
  /** The transition that was taken, as the chart names it; null if none applies. */
  transition: string | null;
  considered: Considered[];
  /** The error that the statechart threw; it keeps its state. */
  fault: string | null;
};

type Guard = (requested: { context: unknown; event: unknown }, parameters: undefined) => boolean;

const holds = (guard: string, snapshot: AnyMachineSnapshot, event: EventObject): boolean => {
  const guards = snapshot.machine.implementations.guards as unknown as Readonly<Record<string, Guard>>;
  const requested = { context: snapshot.context as unknown, event };
  return guard === "" || guard.split(" and ").every((name) => guards[name]?.(requested, undefined) === true);
};

/** Transitions for an event, innermost state first, up to the one that is taken. */
const consider = (snapshot: AnyMachineSnapshot, event: EventObject): Considered[] => {
  const nodes = [...snapshot._nodes].sort((a, b) => b.path.length - a.path.length);
  const considered: Considered[] = [];
  for (const node of nodes)
    for (const definition of node.transitions.get(event.type) ?? []) {
      const guard = guardName(definition.guard);
      const isTaken = holds(guard, snapshot, event);
      considered.push({ transition: transitionId(definition), guard, holds: isTaken });
      if (isTaken) return considered;
    }
  return considered;
};

/** A statechart in its initial state and its first effects. */
export const beginning = (input: GenerationInput): { after: GenerationSnapshot; outputs: MachineOutput[] } => {
  const actor = createActor(generationMachine, { input });
  const outputs: MachineOutput[] = [];
  actor.on("*", (output) => void outputs.push(output));
  actor.start();
  const after = actor.getSnapshot();
  actor.stop();
  return { after, outputs };
};

/** Puts a statechart into a given state. @throws if the state does not exist. */
export const standAt = (leaf: string, before: GenerationSnapshot): GenerationSnapshot => {
  const value = leaf.split(".").reduceRight<unknown>((below, key) => (below === null ? key : { [key]: below }), null);
  return generationMachine.resolveState({ value: value as GenerationSnapshot["value"], context: before.context });
};

/** The transition that an event takes in the current state; null if none applies. */
export const answerTo = (snapshot: AnyMachineSnapshot, event: EventObject): string | null => {
  const [definition] = snapshot.status === "active" ? (snapshot.machine.getTransitionData(snapshot, event) ?? []) : [];
  return definition ? transitionId(definition) : null;
};

/** Applies one event to any statechart without changing `before`. */
export const tryOn = <S extends AnyMachineSnapshot>(before: S, event: EventObject): Tried<S> => {
  const transition = answerTo(before, event);
  const considered = before.status === "active" ? consider(before, event) : [];
  if (transition === null) return { after: before, outputs: [], transition, considered, fault: null };
  const outputs: MachineOutput[] = [];
  const actor = createActor(before.machine, { snapshot: before });
  // An error without a listener would end the process in a timer; it is reported below.
  actor.subscribe({ error: () => undefined });
  actor.start();
  actor.on("*", (output) => void outputs.push(output as MachineOutput));
  actor.send(event);
  const after = actor.getSnapshot() as S;
  actor.stop();
  if (after.status !== "error") return { after, outputs, transition, considered, fault: null };
  const fault: unknown = after.error;
  return { after: before, outputs: [], transition, considered, fault: fault instanceof Error ? fault.message : String(fault) };
};

/** Applies one event to a generation. */
export const tryEvent = (before: GenerationSnapshot, event: GenerationEvent): Tried => tryOn(before, event);
