// Record of a run of rounds: one line for each finished and audited round, so that an interrupted run loses at most one.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Check } from "../../src/torture/crash/audit.ts";
import { type End, mergeEnds } from "../../src/torture/crash/merge-reports.ts";

/** `base`: the seed of the first round, from which the others follow. */
export type Round = { base: number; n: number; checks: Check[]; figures: Record<string, number> };

/** The distance between the seeds of rounds, large enough that no two rounds have submissions in common. */
const ROUND_SEEDS = 1009;
export const seedOf = (base: number, n: number): number => base + n * ROUND_SEEDS;

/** Reads whole lines only, and truncates an incomplete last line. */
const read = (path: string): Round[] => {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, "utf8");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole !== text) writeFileSync(path, whole);
  return whole
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Round);
};

/** @param path Absent: the record is kept in memory. @param base The seed of a new record; an existing record keeps its own. */
export const openRecord = (path: string | undefined, base: number) => {
  const rounds = path === undefined ? [] : read(path);
  const from = rounds[0]?.base ?? base;
  return {
    base: from,
    /** Cycles of the rounds so far. */
    cycles: (): number => rounds.reduce((sum, { figures }) => sum + (figures.cycles ?? 0), 0),
    rounds: (): number => rounds.length,
    add: ({ checks, figures }: End): void => {
      const round: Round = { base: from, n: rounds.length, checks, figures };
      rounds.push(round);
      if (path !== undefined) appendFileSync(path, `${JSON.stringify(round)}\n`);
    },
    /** The sum of all rounds. */
    sum: (): End => mergeEnds(rounds),
  };
};
