// Reloads the catalogue and provider credentials; other changed settings are reported and need a restart.
import type { Catalogue } from "../../catalogue/load.ts";
import type { Settings } from "../config/schema.ts";
import { withKeys } from "../providers/credentials.ts";
import type { Dialects } from "../providers/dialect/load.ts";
import type { Vault } from "../providers/vault.ts";
import { catalogueOf, dialectsOf, requireKnownProviders } from "../routing/load-catalogue.ts";
import type { ProviderKeyRow } from "../store/store.ts";
import type { CurrentConfig } from "./current-config.ts";

/** `rekeyed`: providers whose credential changed. `waiting`: changed settings that need a restart. */
export type Reloaded = { models: number; rekeyed: readonly string[]; waiting: readonly string[] };

export type ReloadDeps = {
  config: CurrentConfig;
  vault: Vault;
  kept: () => Promise<readonly ProviderKeyRow[]>;
  /** Activates all credentials or none and returns the changed providers. */
  rekey: (keys: Settings["providers"]) => string[];
  replaceCatalogue: (catalogue: Catalogue) => void;
};

/** Settings that a reload applies; all others are read once at the start. */
const isTaken = (name: string): boolean => name === "catalogue.dir" || /^providers\.[^.]+\.key(_file)?$/.test(name);

const flat = (settings: object, above = ""): Map<string, unknown> =>
  new Map(
    Object.entries(settings).flatMap(([key, value]): [string, unknown][] =>
      typeof value === "object" && value !== null ? [...flat(value, `${above}${key}.`)] : [[above + key, value]],
    ),
  );

type ProviderSettings = Settings["providers"][string];

/** The settings at the start with those that a reload applies. */
const inEffect = (started: Settings, next: Settings): Settings => {
  const keyOf = ({ key, key_file }: ProviderSettings): ProviderSettings => ({
    ...(key === undefined ? {} : { key }),
    ...(key_file === undefined ? {} : { key_file }),
  });
  const section = (id: string): ProviderSettings => {
    const { key: _, key_file: __, ...kept } = started.providers[id] ?? {};
    return { ...kept, ...keyOf(next.providers[id] ?? {}) };
  };
  const ids = new Set([...Object.keys(started.providers), ...Object.keys(next.providers)]);
  return {
    ...started,
    catalogue: { ...started.catalogue, dir: next.catalogue.dir },
    providers: Object.fromEntries([...ids].map((id) => [id, section(id)])),
  };
};

const changedSettings = (before: Settings, after: Settings): string[] => {
  const [was, is] = [flat(before), flat(after)];
  return [...new Set([...was.keys(), ...is.keys()])].filter((name) => was.get(name) !== is.get(name) && !isTaken(name)).sort();
};

const changedDialects = (before: Dialects, after: Dialects): string[] => {
  const text = (dialects: Dialects, id: string) => JSON.stringify(dialects.get(id)?.dialect ?? null);
  const ids = [...new Set([...before.keys(), ...after.keys()])].sort();
  return ids.filter((id) => text(before, id) !== text(after, id)).map((id) => `providers/${id}.json`);
};

/**
 * Creates the reload function.
 * @throws BadSetting, CatalogueError, DialectsError, and an Error for a credential that cannot be sent; then nothing has changed.
 */
export const createReload =
  ({ config, vault, kept, rekey, replaceCatalogue }: ReloadDeps) =>
  async (next: Settings, origins?: ReadonlyMap<string, string>): Promise<Reloaded> => {
    const { started, simulated } = config;
    // Everything that can fail comes before the first change.
    const dialects = dialectsOf(next);
    requireKnownProviders(next, dialects, origins);
    const catalogue = catalogueOf(next, simulated);
    const waiting = [...changedSettings(started, next), ...changedDialects(config.dialects, dialects)];
    // Last, without a wait behind it, so that a credential set meanwhile is not reverted.
    const keyed = simulated ? null : withKeys(next, await kept(), vault);
    const rekeyed = keyed ? rekey(keyed.providers) : [];
    config.replace(inEffect(started, next), catalogue);
    replaceCatalogue(catalogue);
    return { models: catalogue.models.length, rekeyed, waiting };
  };
