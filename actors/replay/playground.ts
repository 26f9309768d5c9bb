// Playground: runs the service's statecharts by hand, without server, clock or database.
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type EventObject } from "xstate";
import { MACHINES, type MachineName } from "../chart/machines.ts";
import { leafOfValue } from "../generation/snapshot.ts";
import type { MachineOutput } from "../generation/types.ts";
import { answerTo, type Considered, tryOn } from "./dry-run.ts";
import { type Choice, choicesOfGeneration, FIRST_MS, SAMPLE_INPUT } from "./playground-events.ts";

/** State of the playground. */
export type PlaygroundState = { snapshot: AnyMachineSnapshot; nowMs: number };
/** An offered event: `answer` is the transition that it would take; null if none applies. */
export type OfferedEvent = Choice & { answer: string | null };
export type PlayedStep = {
  event: EventObject & { atMs?: number };
  from: string;
  to: string;
  transition: string | null;
  considered: Considered[];
  outputs: MachineOutput[];
  after: PlaygroundState;
};

const VERDICTS: readonly [type: string, label: string][] = [
  ["delivered", "an attempt delivered"],
  ["failed", "an attempt failed"],
  ["unclear", "a submission got an unrecognized response"],
  ["faulty", "configuration fault: credential or provider balance"],
  ["pauseEnded", "the pause ends"],
  ["reset", "an operator resets the circuit breaker"],
];
const COMMITS: readonly [type: string, label: string][] = [
  ["mutationsArrived", "mutations arrive"],
  ["emptied", "the mailbox is empty"],
  ["diskFilled", "the disk is full"],
  ["retried", "the commit is retried"],
  ["outcomeUnknown", "the outcome of a commit is unknown"],
];
const plain = (events: readonly [type: string, label: string][], { nowMs }: PlaygroundState): Choice[] =>
  events.map(([type, label]) => ({ id: type, label, about: null, event: { type, atMs: nowMs } }));

const choicesIn = (machine: MachineName, standing: PlaygroundState): Choice[] => {
  if (machine === "generation") return choicesOfGeneration(standing);
  return plain(machine === "route-health" ? VERDICTS : COMMITS, standing);
};

export const stateOf = ({ snapshot }: PlaygroundState): string => leafOfValue(snapshot.value);

/** A statechart in its initial state. */
export const newPlayground = (machine: MachineName): PlaygroundState => {
  const actor = createActor(MACHINES[machine].machine as AnyStateMachine, { input: SAMPLE_INPUT });
  actor.start();
  const snapshot = actor.getSnapshot() as AnyMachineSnapshot;
  actor.stop();
  return { snapshot, nowMs: FIRST_MS };
};

/** All events, those with a transition first. */
export const offeredEvents = (machine: MachineName, standing: PlaygroundState): OfferedEvent[] =>
  choicesIn(machine, standing).map((choice) => ({ ...choice, answer: answerTo(standing.snapshot, choice.event) }));

const STEP_MS = 1000;

/** Advances the time only; a due deadline is then offered as an event. */
export const wait = ({ snapshot, nowMs }: PlaygroundState, ms: number): PlaygroundState => ({ snapshot, nowMs: nowMs + ms });

/** Applies an event. The time advances by a second, or to the time of the event. */
export const play = (standing: PlaygroundState, { event }: Choice): PlayedStep => {
  const { after, outputs, transition, considered, fault } = tryOn(standing.snapshot, event);
  if (fault !== null) throw new Error(fault);
  const next = { snapshot: after, nowMs: Math.max(standing.nowMs, event.atMs ?? 0) + STEP_MS };
  return { event, from: stateOf(standing), to: stateOf(next), transition, considered, outputs, after: next };
};
