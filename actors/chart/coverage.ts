// Which transitions of each machine the tests take, as test/machine/coverage.test.ts notes it.
import kept from "./coverage.json" with { type: "json" };
import type { MachineName } from "./machines.ts";

/** Ids of the transitions that are taken. */
export const coveredOf = (machine: MachineName): readonly string[] => kept[machine];
