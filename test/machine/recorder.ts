// Records which transitions of a machine are taken, by whatever runs it meanwhile in this process.
import type { AnyStateMachine } from "xstate";
import { transitionId } from "../../actors/chart/chart.ts";

/** Runs work, and resolves with the transitions that were taken meanwhile, as the chart names them. */
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
