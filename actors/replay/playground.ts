// Playing a machine by hand: the same objects that run in the service, with events ready made, and no server, clock or database behind.
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type EventObject } from "xstate";
import { MACHINES, type MachineName } from "../chart/machines.ts";
import { leafOfValue } from "../generation/snapshot.ts";
import type { MachineOutput } from "../generation/types.ts";
import { answerTo, type Considered, tryOn } from "./dry-run.ts";
import { type Choice, choicesOfGeneration, FIRST_MS, SAMPLE_INPUT } from "./playground-events.ts";

/** Where a game stands. */
export type PlaygroundState = { snapshot: AnyMachineSnapshot; nowMs: number };
/** A choice as it is offered: `answer` is the transition that would be taken; null: the machine has no answer to it here. */
export type OfferedEvent = Choice & { answer: string | null };
export type PlayedStep = {
  event: EventObject & { atMs?: number };
  from: string;
  to: string;
  transition: string | null;
  considered: Considered[];
  sayings: MachineOutput[];
  after: PlaygroundState;
};

const VERDICTS: readonly [type: string, label: string][] = [
  ["delivered", "an attempt delivered"],
  ["failed", "an attempt failed"],
  ["unclear", "the answer to a submission said nothing"],
  ["faulty", "a fault of the set-up: key or balance"],
  ["cooled", "its pause is looked at"],
  ["reset", "the operator has seen to it"],
];
const COMMITS: readonly [type: string, label: string][] = [
  ["mutationsArrived", "something is to be written"],
  ["emptied", "nothing is left to write"],
  ["diskFilled", "the disk is full"],
  ["retried", "it is tried again"],
  ["outcomeUnknown", "a commit ended in doubt"],
];
const plain = (events: readonly [type: string, label: string][], { nowMs }: PlaygroundState): Choice[] =>
  events.map(([type, label]) => ({ id: type, label, about: null, event: { type, atMs: nowMs } }));

const choicesIn = (machine: MachineName, standing: PlaygroundState): Choice[] => {
  if (machine === "generation") return choicesOfGeneration(standing);
  return plain(machine === "route-health" ? VERDICTS : COMMITS, standing);
};

export const stateOf = ({ snapshot }: PlaygroundState): string => leafOfValue(snapshot.value);

/** A machine at its beginning. */
export const newPlayground = (machine: MachineName): PlaygroundState => {
  const actor = createActor(MACHINES[machine].machine as AnyStateMachine, { input: SAMPLE_INPUT });
  actor.start();
  const snapshot = actor.getSnapshot() as AnyMachineSnapshot;
  actor.stop();
  return { snapshot, nowMs: FIRST_MS };
};

/** Every event that may be told, those first that the machine answers to where it stands. */
export const offeredEvents = (machine: MachineName, standing: PlaygroundState): OfferedEvent[] =>
  choicesIn(machine, standing).map((choice) => ({ ...choice, answer: answerTo(standing.snapshot, choice.event) }));

const STEP_MS = 1000;

/** Time passes and nothing happens: what is due by then is offered, and only its event makes it so. */
export const wait = ({ snapshot, nowMs }: PlaygroundState, ms: number): PlaygroundState => ({ snapshot, nowMs: nowMs + ms });

/** Tells it an event. Time moves on by a second, or to when the event happens. */
export const play = (standing: PlaygroundState, { event }: Choice): PlayedStep => {
  const { after, sayings, transition, considered, fault } = tryOn(standing.snapshot, event);
  if (fault !== null) throw new Error(fault);
  const next = { snapshot: after, nowMs: Math.max(standing.nowMs, event.atMs ?? 0) + STEP_MS };
  return { event, from: stateOf(standing), to: stateOf(next), transition, considered, sayings, after: next };
};
