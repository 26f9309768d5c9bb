// What the settings name: the providers' dialects, built in or brought by the operator, and the catalogue of models over them.
import { builtInCatalogue, type Catalogue, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";
import { BadSetting, PREFIX, providerSetting, type Settings } from "../config/schema.ts";
import { type Dialects, readDialects } from "../providers/dialect/load.ts";
import { knownProviders } from "../providers/providers.ts";

/** @throws DialectsFault with every fault of every file */
export const dialectsOf = ({ catalogue: { dir } }: Pick<Settings, "catalogue">): Dialects =>
  readDialects(dir === "" ? null : dir);

/** Every model that the settings name, whoever runs it. @throws CatalogueFault, DialectsFault */
export const wholeCatalogue = (settings: Pick<Settings, "catalogue">): Catalogue => {
  const { dir } = settings.catalogue;
  return dir === "" ? builtInCatalogue() : loadCatalogue(dir, [...knownProviders(dialectsOf(settings)).keys()]);
};

/** The models that a service offers: without those that only the simulator runs, unless it stands in. @throws CatalogueFault, DialectsFault */
export const catalogueOf = (settings: Settings, simulated: boolean): Catalogue => {
  const whole = wholeCatalogue(settings);
  return simulated ? whole : catalogueOver(whole.models.filter((model) => !model.simulated));
};

/** The providers and accounts whose keys are of use. */
export const knownAccounts = (dialects: Dialects): ReadonlySet<string> =>
  new Set([...knownProviders(dialects)].flatMap(([id, { account }]) => [id, account]));

/**
 * @param origins where each setting was said, to name the place
 * @throws BadSetting for settings of a provider whose dialect nobody speaks, and whose key nobody uses
 */
export const insistOnProviders = (settings: Settings, dialects: Dialects, origins?: ReadonlyMap<string, string>): void => {
  const known = knownAccounts(dialects);
  const stranger = Object.keys(settings.providers).find((id) => !known.has(id));
  if (stranger === undefined) return;
  const [, origin] = [...(origins ?? [])].find(([name]) => name.startsWith(`providers.${stranger}.`)) ?? [];
  // A variable is told by what names the provider in it.
  const from = origin === undefined || origin.startsWith(PREFIX) ? providerSetting(stranger) : origin;
  throw new BadSetting(`${from}: there is no such provider; there are ${[...known].sort().join(", ")}`);
};
