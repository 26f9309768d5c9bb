// A reload: the catalogue and the providers' keys are taken anew while the service runs; everything else waits for a restart and is named.
import type { Catalogue } from "../../catalogue/load.ts";
import type { Settings } from "../config/schema.ts";
import { withKeys } from "../providers/credentials.ts";
import type { Dialects } from "../providers/dialect/load.ts";
import type { Vault } from "../providers/vault.ts";
import { catalogueOf, dialectsOf, insistOnProviders } from "../routing/load-catalogue.ts";
import type { ProviderKeyRow } from "../store/store.ts";

/** `rekeyed`: providers that have another key, or none, now. `waiting`: what changed and counts from the next start on. */
export type Reloaded = { models: number; rekeyed: readonly string[]; waiting: readonly string[] };

export type ReloadDeps = {
  /** The settings that the service was started with: what a reload does not take stays as it is in them. */
  started: Settings;
  /** As the service was opened with them. */
  dialects: Dialects;
  simulated: boolean;
  vault: Vault;
  kept: () => Promise<readonly ProviderKeyRow[]>;
  /** Takes credentials, all or none, and says whose are others now. */
  rekey: (keys: Settings["providers"]) => string[];
  replace: (next: Settings, catalogue: Catalogue) => void;
};

/** What a reload takes: all other settings are read once, at the start. */
const isTaken = (name: string): boolean => name === "catalogue.dir" || /^providers\.[^.]+\.key(_file)?$/.test(name);

const flat = (settings: object, above = ""): Map<string, unknown> =>
  new Map(
    Object.entries(settings).flatMap(([key, value]): [string, unknown][] =>
      typeof value === "object" && value !== null ? [...flat(value, `${above}${key}.`)] : [[above + key, value]],
    ),
  );

type ProviderSettings = Settings["providers"][string];

/** Those that the service was started with, but for what a reload takes: nobody is told that others count already. */
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
 * Makes the reload of a service.
 * @throws BadSetting, CatalogueFault, DialectsFault, and an Error for a key that cannot be sent; then nothing has changed.
 */
export const createReload =
  (deps: ReloadDeps) =>
  async (next: Settings, origins?: ReadonlyMap<string, string>): Promise<Reloaded> => {
    // All that may be refused comes before the first change.
    const dialects = dialectsOf(next);
    insistOnProviders(next, dialects, origins);
    const catalogue = catalogueOf(next, deps.simulated);
    const waiting = [...changedSettings(deps.started, next), ...changedDialects(deps.dialects, dialects)];
    // Last, with nothing to wait for behind it: a key that is set meanwhile is not put back.
    const keyed = deps.simulated ? null : withKeys(next, await deps.kept(), deps.vault);
    const rekeyed = keyed ? deps.rekey(keyed.providers) : [];
    deps.replace(inEffect(deps.started, next), catalogue);
    return { models: catalogue.models.length, rekeyed, waiting };
  };
