// Tests the playground: offered events match the machine, and reach every state and every transition.
import { expect, test } from "bun:test";
import { chartOf } from "../../actors/chart/chart.ts";
import { MACHINE_NAMES, MACHINES, type MachineName } from "../../actors/chart/machines.ts";
import { newPlayground, offeredEvents, type PlaygroundState, play, stateOf, wait } from "../../actors/replay/playground.ts";
import { casesOfShare } from "../case-share.ts";
import { situationOf } from "./explore.ts";

/** Longer than any wait in a sample. */
const LONG_MS = 2 * 3_600_000;
const isLate = ({ snapshot, nowMs }: PlaygroundState): boolean => {
  const { waitEndsAtMs = 0, openUntilMs = 0 } = snapshot.context as { waitEndsAtMs?: number; openUntilMs?: number };
  return nowMs >= Math.max(waitEndsAtMs, openUntilMs);
};
const keyOf = (machine: MachineName, standing: PlaygroundState) => {
  const { snapshot } = standing;
  const generation = snapshot as Parameters<typeof situationOf>[0];
  const situation =
    machine === "generation"
      ? situationOf(generation)
      : `${stateOf(standing)} ${(snapshot.context as { failures?: number } | undefined)?.failures}`;
  return `${situation} ${isLate(standing)}`;
};

/** Plays every offered event in every reachable situation. */
const playEverything = (machine: MachineName) => {
  const found = new Map<string, PlaygroundState>([["", newPlayground(machine)]]);
  const taken = new Set<string>();
  const faults: string[] = [];
  const states = new Set<string>();
  for (const standing of found.values()) {
    states.add(stateOf(standing));
    const later = wait(standing, LONG_MS);
    found.set(keyOf(machine, later), found.get(keyOf(machine, later)) ?? later);
    for (const offered of offeredEvents(machine, standing)) {
      if (offered.answer === null) continue;
      const step = play(standing, offered);
      if (step.transition !== offered.answer) faults.push(`${offered.id} in ${step.from} takes ${step.transition}`);
      taken.add(offered.answer);
      const key = keyOf(machine, step.after);
      if (!found.has(key)) found.set(key, step.after);
    }
  }
  return { taken, states, faults };
};

test.each(casesOfShare("machines", MACHINE_NAMES, (name) => name))(
  "%s: the offered events reach every state and every transition without a fault",
  (machine) => {
    const chart = chartOf(MACHINES[machine].machine);
    const { states, taken, faults } = playEverything(machine);
    expect(faults).toEqual([]);
    expect([...states].sort()).toEqual(
      chart.states
        .filter(({ kind }) => kind !== "compound")
        .map(({ id }) => id)
        .sort(),
    );
    const left = chart.transitions.filter(({ id }) => !taken.has(id)).map(({ id }) => id);
    expect(left).toEqual([]);
  },
  240_000,
);

test("does not change the state for an event that the machine does not accept", () => {
  const standing = newPlayground("generation");
  const refused = offeredEvents("generation", standing).filter(({ answer }) => answer === null);
  expect(refused.length).toBeGreaterThan(10);
  for (const offered of refused) {
    const { transition, outputs: sayings, after } = play(standing, offered);
    expect([transition, sayings, after.snapshot === standing.snapshot]).toEqual([null, [], true]);
  }
});

test("plays a generation to its end: a route fails, the next one delivers, and one price is charged", () => {
  let standing = newPlayground("generation");
  const reported: string[] = [];
  for (const id of ["begun", "slotTaken", "accepted", "jobFailed", "begun", "slotTaken", "accepted", "announced", "collected"]) {
    const offered = offeredEvents("generation", standing).find((each) => each.id === id && each.about === null);
    if (!offered?.answer) throw new Error(`${id} is not offered in ${stateOf(standing)}`);
    const step = play(standing, offered);
    reported.push(...step.outputs.flatMap((saying) => (saying.type === "note.capture" ? [`charged ${saying.credits}`] : [])));
    standing = step.after;
  }
  expect([stateOf(standing), reported]).toEqual(["succeeded", ["charged 25"]]);
  expect(offeredEvents("generation", standing).filter(({ answer }) => answer !== null)).toEqual([]);
});
