// A catalogue for tests: the models of the simulator, and a family with several routes whose prices are nobody's but the tests'.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import { builtInCatalogue, type Catalogue, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";

let sample: Catalogue | undefined;
/** Its routes lead to fal and Replicate. Loaded once: nobody changes a catalogue. */
export const sampleCatalogue = (): Catalogue => {
  sample ??= catalogueOver([
    ...builtInCatalogue().models.filter(({ simulated }) => simulated),
    ...loadCatalogue(import.meta.dir).models,
  ]);
  return sample;
};

/** The same as files, for a service of another process. @returns `dir` */
export const writeSample = (dir: string): string => {
  cpSync(join(import.meta.dir, "models"), join(dir, "models"), { recursive: true });
  for (const { id } of builtInCatalogue().models.filter(({ simulated }) => simulated))
    writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify(BUILT_IN_MODELS[`${id}.json`]));
  return dir;
};
