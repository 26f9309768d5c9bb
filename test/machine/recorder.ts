// Records the transitions of a machine that are taken in this process while a piece of work runs.
import type { AnyStateMachine } from "xstate";
import { transitionId } from "../../actors/chart/chart.ts";

/** Runs work and resolves with the ids of the transitions that were taken meanwhile, as in the chart. */
export const taking = async (machine: AnyStateMachine, work: () => Promise<void> | void): Promise<Set<string>> => {
  const taken = new Set<string>();
  const { transition } = machine;
  machine.transition = (snapshot, event, scope) => {
    for (const definition of machine.getTransitionData(snapshot, event) ?? []) taken.add(transitionId(definition));
    return transition.call(machine, snapshot, event, scope);
  };
  try {
    await work();
  } finally {
    machine.transition = transition;
  }
  return taken;
};
