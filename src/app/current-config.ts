// Configuration in effect: the settings and the catalogue of the start or the last reload.
import type { Catalogue } from "../../catalogue/load.ts";
import type { Settings } from "../config/schema.ts";
import type { Dialects } from "../providers/dialect/load.ts";
import { catalogueOf, dialectsOf } from "../routing/load-catalogue.ts";

export type CurrentConfig = {
  /** Settings of the start. */
  started: Settings;
  /** Whether an embedded simulator replaces the providers. */
  simulated: boolean;
  /** Dialects of the start, which a reload does not replace. */
  dialects: Dialects;
  settings: () => Settings;
  catalogue: () => Catalogue;
  replace: (settings: Settings, catalogue: Catalogue) => void;
};

/** @throws CatalogueError, DialectsError */
export const createCurrentConfig = (started: Settings, simulated: boolean): CurrentConfig => {
  const dialects = dialectsOf(started);
  let current = { settings: started, catalogue: catalogueOf(started, simulated) };
  return {
    started,
    simulated,
    dialects,
    settings: () => current.settings,
    catalogue: () => current.catalogue,
    replace: (settings, catalogue) => {
      current = { settings, catalogue };
    },
  };
};
