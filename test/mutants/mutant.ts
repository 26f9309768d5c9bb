// What a mutant is: a bug as a patch of the sources, planted when they are loaded; the product itself has no switch for it.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** `find` occurs exactly once in the file. Of two patches of one file the second is applied to what the first left. */
export type Patch = { file: string; find: string; put: string };

/** What must find it: one of the properties, wrong and right deliveries through the whole service, or the simulation, of worlds as they come (`simulation`) or of several nodes alone (`nodes`). */
export type Killer =
  | "ledger"
  | "limits"
  | "last-credit"
  | "machine"
  | "asking"
  | "look-up"
  | "resuming"
  | "deliveries"
  | "simulation"
  | "nodes";
export const isSimulated = (killer: Killer): boolean => killer === "simulation" || killer === "nodes";

export type Mutant = {
  name: string;
  /** What it breaks, in a sentence. */
  breaks: string;
  /** The finding or the peer's defect that it stands for. */
  standsFor: string;
  patches: readonly Patch[];
  killer: Killer;
  /** Where its hunt begins: little before a seed that has found it, when many others do not (1). A change of the product may move it. */
  seed?: number;
};

export const ROOT = join(import.meta.dir, "../..");

/** The text of a file with a mutant planted. @throws when the source has changed so that a patch no longer fits. */
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
