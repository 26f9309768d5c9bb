// Catalogue for tests: the simulator's models, and a model family with several routes and prices that only tests use.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import { builtInCatalogue, type Catalogue, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";

let sample: Catalogue | undefined;
/** Its routes are of fal and Replicate. It is loaded once, because a catalogue is immutable. */
export const sampleCatalogue = (): Catalogue => {
  sample ??= catalogueOver([
    ...builtInCatalogue().models.filter(({ simulated }) => simulated),
    ...loadCatalogue(import.meta.dir).models,
  ]);
  return sample;
};

/** Writes the catalogue as files for a service in another process. @returns `dir` */
export const writeSample = (dir: string): string => {
  cpSync(join(import.meta.dir, "models"), join(dir, "models"), { recursive: true });
  for (const { id } of builtInCatalogue().models.filter(({ simulated }) => simulated))
    writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify(BUILT_IN_MODELS[`${id}.json`]));
  return dir;
};
