// A catalogue for tests: the models of the simulator, and a family with several routes whose prices are nobody's but the tests'.
import { builtInCatalogue, type Catalogue, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";

/** Its routes lead to fal and Replicate. */
export const sampleCatalogue = (): Catalogue =>
  catalogueOver([...builtInCatalogue().models.filter(({ simulated }) => simulated), ...loadCatalogue(import.meta.dir).models]);
