// Defines a property and checks it: known counterexamples first, then random runs; failures are kept as regressions.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

/** A property over plain JSON values, so that a counterexample stays usable after its generator changes. */
export type Property<Value> = {
  name: string;
  /** The property in a sentence. */
  says: string;
  /** The number of runs for a requested number. */
  runsOf: (runs: number) => number;
  arbitrary: fc.Arbitrary<Value>;
  /** Its values are not plain JSON (a scheduler): a counterexample is replayed by its seed and path. */
  isReplayedBySeed?: true;
  /** Prepares the state that runs share. `play` throws if the property is violated, `finish` if all runs together violate it. */
  open: () => Player<Value>;
};
export type Player<Value> = {
  play: (value: Value) => void | Promise<void>;
  finish?: () => void | Promise<void>;
  figures?: () => Record<string, number>;
};

/** The result of a check. */
export type Outcome = {
  runs: number;
  regressions: number;
  ms: number;
  figures: Record<string, number>;
  /** Everything that is needed to reproduce the failure; null without one. */
  fault: string | null;
};

/** An earlier counterexample, which is played before random runs. */
type Regression = { property: string; found: string; seed: number; path: string; counterexample: unknown };

const REGRESSIONS = join(import.meta.dir, "../regressions");
const isOf = (name: string) => (file: string) => file.startsWith(`properties-${name}-`) && file.endsWith(".json");

const readRegressions = (name: string): Regression[] => {
  if (!existsSync(REGRESSIONS)) return [];
  const files = readdirSync(REGRESSIONS).filter(isOf(name)).sort();
  return files.map((file) => JSON.parse(readFileSync(join(REGRESSIONS, file), "utf8")) as Regression);
};

const keep = (regression: Regression): string => {
  mkdirSync(REGRESSIONS, { recursive: true });
  const path = join(REGRESSIONS, `properties-${regression.property}-${regression.seed}.json`);
  writeFileSync(path, `${JSON.stringify(regression, null, 1)}\n`);
  return path;
};

const textOf = (fault: unknown): string => (fault instanceof Error ? (fault.stack ?? fault.message) : String(fault));

/** Plays an earlier counterexample. @throws if it fails again. */
const replay = async <Value>(property: Property<Value>, { play }: Player<Value>, kept: Regression): Promise<void> => {
  if (!property.isReplayedBySeed) return play(kept.counterexample as Value);
  const promise = fc.asyncProperty(property.arbitrary, async (value) => play(value));
  await fc.assert(promise, { seed: kept.seed, path: kept.path, numRuns: 1, endOnFailure: true });
};

/** @param asked `keeps`: whether a new counterexample becomes a file; not while a mutant is planted. */
export const checkProperty = async <Value>(
  property: Property<Value>,
  asked: { runs: number; seed: number; keeps: boolean },
): Promise<Outcome> => {
  const beganMono = performance.now();
  const player = property.open();
  const regressions = readRegressions(property.name);
  const outcome = (runs: number, fault: string | null): Outcome => ({
    ...{ runs, regressions: regressions.length, ms: performance.now() - beganMono, figures: player.figures?.() ?? {}, fault },
  });

  for (const kept of regressions)
    try {
      await replay(property, player, kept);
    } catch (fault) {
      return outcome(0, `a regression is back: ${kept.found}\n${textOf(fault)}`);
    }
  const promise = fc.asyncProperty(property.arbitrary, async (value) => player.play(value));
  const seen = await fc.check(promise, {
    numRuns: property.runsOf(asked.runs),
    seed: asked.seed,
    // For a mutant only the finding matters, not a small counterexample.
    endOnFailure: !asked.keeps,
  });
  if (!seen.failed) {
    const ended = await Promise.resolve(player.finish?.()).then(() => null, textOf);
    return outcome(seen.numRuns, ended === null ? null : `seed ${asked.seed}, after all runs: ${ended}`);
  }
  const [value] = seen.counterexample ?? [];
  const path = seen.counterexamplePath ?? "";
  const message = textOf(seen.errorInstance);
  const counterexample = property.isReplayedBySeed ? null : value;
  const regression = { property: property.name, found: message.split("\n")[0] ?? "", seed: asked.seed, path, counterexample };
  const where = asked.keeps ? `kept in ${keep(regression)}` : "not kept";
  return outcome(
    seen.numRuns,
    `seed ${asked.seed}, path ${path}, ${seen.numShrinks} times made smaller, ${where}\n${fc.stringify(value)}\n${message}`,
  );
};
