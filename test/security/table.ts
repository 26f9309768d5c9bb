// All lines of the security checks, each with its tests: file and a part of the title.
import { REQUEST_CHECKS } from "./request-checks.ts";
import { INNER_LINES } from "./service-checks.ts";

export type Held = readonly [file: string, name: string];
export type Line = {
  area: string;
  line: string;
  /** The behaviour where the specification or a decision differs from the source list of the line. */
  instead?: string;
  held: readonly Held[];
};

export const LINES: readonly Line[] = [...REQUEST_CHECKS, ...INNER_LINES];
