// Loads the dialects and the model catalogue of the configuration.
import { builtInCatalogue, type Catalogue, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";
import { BadSetting, PREFIX, providerSetting, type Settings } from "../config/schema.ts";
import { type Dialects, readDialects } from "../providers/dialect/load.ts";
import { knownProviders } from "../providers/providers.ts";

/** @throws DialectsError with every error of every file */
export const dialectsOf = ({ catalogue: { dir } }: Pick<Settings, "catalogue">): Dialects =>
  readDialects(dir === "" ? null : dir);

/** Every model of the configuration, whatever its providers. @throws CatalogueError, DialectsError */
export const completeCatalogue = (settings: Pick<Settings, "catalogue">): Catalogue => {
  const { dir } = settings.catalogue;
  return dir === "" ? builtInCatalogue() : loadCatalogue(dir, [...knownProviders(dialectsOf(settings)).keys()]);
};

/** The models that a service offers, without simulator models unless it is simulated. @throws CatalogueError, DialectsError */
export const catalogueOf = (settings: Settings, simulated: boolean): Catalogue => {
  const whole = completeCatalogue(settings);
  return simulated ? whole : catalogueOver(whole.models.filter((model) => !model.simulated));
};

/** Providers and accounts whose credentials are used. */
export const knownAccounts = (dialects: Dialects): ReadonlySet<string> =>
  new Set([...knownProviders(dialects)].flatMap(([id, { account }]) => [id, account]));

/**
 * @param origins source of each setting
 * @throws BadSetting for settings of an unknown provider
 */
export const requireKnownProviders = (settings: Settings, dialects: Dialects, origins?: ReadonlyMap<string, string>): void => {
  const known = knownAccounts(dialects);
  const unknownProvider = Object.keys(settings.providers).find((id) => !known.has(id));
  if (unknownProvider === undefined) return;
  const [, origin] = [...(origins ?? [])].find(([name]) => name.startsWith(`providers.${unknownProvider}.`)) ?? [];
  // A variable is reported by the part that names the provider.
  const from = origin === undefined || origin.startsWith(PREFIX) ? providerSetting(unknownProvider) : origin;
  throw new BadSetting(`${from}: there is no such provider; there are ${[...known].sort().join(", ")}`);
};
