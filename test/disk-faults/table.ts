// A row of the disk-fault program: its name for the command line, what it checks, and how to run it.
import type { SimulatorProcess } from "../../src/torture/crash/crash-fixture.ts";

export type RowWorld = { simulator: SimulatorProcess; say: (line: string) => void };
export type Row = {
  name: string;
  says: string;
  /** @returns a note for its line, if any. @throws what went wrong. */
  play: (world: RowWorld) => Promise<unknown>;
};
