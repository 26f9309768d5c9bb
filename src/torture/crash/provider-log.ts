// Reads submissions and announced results from a simulator's log, each once.
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { LogLine, Submission } from "../../simulator/log.ts";

const NEWLINE = 10;

/** Reads a growing log. A restarted simulator truncates an incomplete line before it appends. */
export const createProviderLog = (path: string) => {
  const all: Submission[] = [];
  const announcedAtMs = new Map<string, number>();
  let readBytes = 0;
  /** The submissions since the previous call. */
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
    /** The time at which the result of each job was first announced, or returned with its submission's response, by job id. */
    announcedAtMs: (): ReadonlyMap<string, number> => {
      fresh();
      return announcedAtMs;
    },
    /** The number of submissions so far. */
    count: (): number => all.length,
    /** All submissions, including those since the previous call. */
    all: (): readonly Submission[] => {
      fresh();
      return all;
    },
  };
};
