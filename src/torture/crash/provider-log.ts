// The submissions and announced results on a simulator's log, each read once.
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { LogLine, Submission } from "../../simulator/log.ts";

const NEWLINE = 10;

/** Reads a log that grows; a simulator that was killed takes a line that was cut short off before it goes on. */
export const createProviderLog = (path: string) => {
  const all: Submission[] = [];
  const announcedAtMs = new Map<string, number>();
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
      .flatMap((line) => (/^{"type":"(submission|announced)"/.test(line) ? [JSON.parse(line) as LogLine] : []));
    for (const line of lines) if (line.type === "announced") announcedAtMs.set(line.job_id, Date.parse(line.at));
    const submissions = lines.filter((line): line is Submission => line.type === "submission");
    all.push(...submissions);
    return submissions;
  };
  return {
    fresh,
    /** When the result of each job was first announced, or sent with the answer to its submission, by job id. */
    announcedAtMs: (): ReadonlyMap<string, number> => {
      fresh();
      return announcedAtMs;
    },
    /** How many were read so far. */
    count: (): number => all.length,
    /** Every one, those that came since the last look as well. */
    all: (): readonly Submission[] => {
      fresh();
      return all;
    },
  };
};
