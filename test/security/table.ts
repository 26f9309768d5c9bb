// Every line of the security checks, and the tests that hold it: file and a part of the test's name.
import { DOOR_LINES } from "./request-checks.ts";
import { INNER_LINES } from "./service-checks.ts";

export type Held = readonly [file: string, name: string];
export type Line = {
  area: string;
  line: string;
  /** What is answered where the specification or its decisions say otherwise than the list that the line is from. */
  instead?: string;
  held: readonly Held[];
};

export const LINES: readonly Line[] = [...DOOR_LINES, ...INNER_LINES];
