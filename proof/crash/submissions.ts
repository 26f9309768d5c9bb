// The submissions on a simulator's log, read as far as whole lines go and only once each.
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { Submission } from "../../src/simulator/log.ts";

const NEWLINE = 10;

/** Reads a log that grows; a simulator that was killed takes a line that was cut short off before it goes on. */
export const openSubmissions = (path: string) => {
  const all: Submission[] = [];
  let readBytes = 0;
  /** What came since the last look. */
  const fresh = (): Submission[] => {
    if (!existsSync(path)) return [];
    const file = openSync(path, "r");
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - readBytes));
    let filled = 0;
    for (let n = -1; n !== 0 && filled < bytes.length; filled += n)
      n = readSync(file, bytes, filled, bytes.length - filled, readBytes + filled);
    closeSync(file);
    const whole = bytes.subarray(0, filled).lastIndexOf(NEWLINE) + 1;
    readBytes += whole;
    const lines = bytes
      .subarray(0, whole)
      .toString("utf8")
      .split("\n")
      .flatMap((line) => (line.startsWith('{"type":"submission"') ? [JSON.parse(line) as Submission] : []));
    all.push(...lines);
    return lines;
  };
  return {
    fresh,
    /** How many were read so far. */
    count: (): number => all.length,
    /** Every one, those that came since the last look as well. */
    all: (): readonly Submission[] => {
      fresh();
      return all;
    },
  };
};
