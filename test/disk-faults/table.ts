// A row of the faults: its name for the command line, what it promises, and how it is played.
import type { SimulatorProcess } from "../../src/torture/crash/crash-fixture.ts";

export type RowWorld = { simulator: SimulatorProcess; say: (line: string) => void };
export type Row = {
  name: string;
  says: string;
  /** @returns a word for its line, if it has one. @throws what went wrong. */
  play: (world: RowWorld) => Promise<unknown>;
};
