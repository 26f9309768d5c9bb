// The record of a long run of rounds: a line for each that was finished and audited, so that whoever ends the program loses one at most.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Check } from "../../src/torture/crash/audit.ts";
import { type End, mergeEnds } from "../../src/torture/crash/merge-reports.ts";

/** `base`: the seed of the first round; those of the others follow from it. */
export type Round = { base: number; n: number; checks: Check[]; figures: Record<string, number> };

/** Rounds are far enough apart that no two have orders in common. */
const ROUND_SEEDS = 1009;
export const seedOf = (base: number, n: number): number => base + n * ROUND_SEEDS;

/** Whole lines only: the last may have been cut short, and is taken off before another is put behind it. */
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

/** @param path absent: it is remembered as long as this process lives. @param base of a new record; another's is kept. */
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
    /** All rounds as one. */
    sum: (): End => mergeEnds(rounds),
  };
};
