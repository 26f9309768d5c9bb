// Defines a mutant: a bug as a patch of the sources that is applied while they are loaded.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** `find` occurs exactly once in the file. Several patches of one file are applied one after the other. */
export type Patch = { file: string; find: string; put: string };

/** The program that must find it: a property, the delivery test, or the simulation (`nodes`: only of several nodes). */
export type Killer =
  | "ledger"
  | "limits"
  | "last-credit"
  | "machine"
  | "asking"
  | "look-up"
  | "resuming"
  | "slow-receivers"
  | "changing-receivers"
  | "deliveries"
  | "simulation"
  | "nodes";
export const isSimulated = (killer: Killer): boolean => killer === "simulation" || killer === "nodes";

export type Mutant = {
  name: string;
  /** A sentence about what it breaks. */
  breaks: string;
  /** The finding, rule or defect of another product that it represents. */
  standsFor: string;
  patches: readonly Patch[];
  killer: Killer;
  /** The first seed of the hunt (1), set just before a seed that finds it if many others do not. A product change may move it. */
  seed?: number;
};

export const ROOT = join(import.meta.dir, "../..");

/** The text of a file with a mutant planted. @throws if the source has changed and a patch no longer fits. */
export const planted = (mutant: Mutant, file: string): string => {
  let text = readFileSync(join(ROOT, file), "utf8");
  for (const { find, put } of mutant.patches.filter((patch) => patch.file === file)) {
    const parts = text.split(find);
    if (parts.length !== 2)
      throw new Error(`the mutant ${mutant.name} is stale: ${file} holds ${parts.length - 1} times\n${find}`);
    text = parts.join(put);
  }
  return text;
};

/** The files that a mutant changes. */
export const filesOf = ({ patches }: Mutant): string[] => [...new Set(patches.map(({ file }) => file))];
