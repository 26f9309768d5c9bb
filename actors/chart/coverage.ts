// Transition coverage of each machine, as test/machine/coverage.test.ts records it.
import kept from "./coverage.json" with { type: "json" };
import type { MachineName } from "./machines.ts";

/** Returns the ids of the transitions that the tests take. */
export const coveredOf = (machine: MachineName): readonly string[] => kept[machine];
