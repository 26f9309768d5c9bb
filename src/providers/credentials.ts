// Where providers' credentials come from: the settings, a file that the settings name, or the vault; in this order.
import { readFileSync } from "node:fs";
import { BadSetting, providerSetting, type Settings } from "../config/schema.ts";
import { codeOf, isPassing } from "../config/value-files.ts";
import type { ProviderKeyRow } from "../store/store.ts";
import { type Vault, VaultFault } from "./vault.ts";

export type KeySource = { from: "settings" } | { from: "file"; path: string } | { from: "vault"; id: string; setAtMs: number };

/** The settings' own source of an account's key; undefined where they have none. */
export const sourceInSettings = (settings: Settings, account: string): KeySource | undefined => {
  const { key, key_file } = settings.providers[account] ?? {};
  if (key !== undefined) return { from: "settings" };
  return key_file === undefined ? undefined : { from: "file", path: key_file };
};

const fromFile = (account: string, path: string): string => {
  try {
    const text = readFileSync(path, "utf8").trim();
    if (text !== "") return text;
  } catch (fault) {
    const why = `${path} cannot be read${codeOf(fault)}`;
    throw new BadSetting(`${providerSetting(account)}__KEY_FILE: ${why}`, { isPassing: isPassing(fault) });
  }
  throw new BadSetting(`${providerSetting(account)}__KEY_FILE: ${path} is empty; put the key into it, and nothing else`);
};

/**
 * The settings with every credential that there is filled in.
 * @param instead what is used for a kept key that cannot be opened, where that is to be no fault
 * @throws BadSetting one line, for a file that cannot be read and for a kept key that cannot be opened
 */
export const withKeys = (
  settings: Settings,
  kept: readonly ProviderKeyRow[],
  vault: Vault,
  instead?: (row: ProviderKeyRow, why: string) => string | undefined,
): Settings => {
  const providers = { ...settings.providers };
  for (const [account, { key, key_file }] of Object.entries(providers))
    if (key === undefined && key_file !== undefined)
      providers[account] = { ...providers[account], key: fromFile(account, key_file) };
  for (const row of kept) {
    if (providers[row.account]?.key !== undefined) continue;
    try {
      providers[row.account] = { ...providers[row.account], key: vault.open(row.account, row) };
    } catch (fault) {
      if (!(fault instanceof VaultFault)) throw fault;
      if (!instead) throw new BadSetting(fault.message);
      const key = instead(row, fault.message);
      if (key !== undefined) providers[row.account] = { ...providers[row.account], key };
    }
  }
  return { ...settings, providers };
};

export type Keyring = {
  /** For a start: with a key that it cannot open it would take over jobs that it cannot ask about. @throws BadSetting */
  first(kept: readonly ProviderKeyRow[]): Settings;
  /** When another node has changed keys: one that cannot be opened here stays as it was, and is told once; the others count. @throws BadSetting */
  next(kept: readonly ProviderKeyRow[]): Settings;
};
/** The credentials in use over a time in which they change. */
export const createCredentials = (deps: { settings: () => Settings; vault: Vault; told: (why: string) => void }): Keyring => {
  let inUse: Settings["providers"] = {};
  const told = new Set<string>();
  const take = (kept: readonly ProviderKeyRow[], instead?: Parameters<typeof withKeys>[3]): Settings => {
    const keyed = withKeys(deps.settings(), kept, deps.vault, instead);
    inUse = keyed.providers;
    return keyed;
  };
  return {
    first: (kept) => take(kept),
    next: (kept) =>
      take(kept, (row, why) => {
        if (!told.has(row.id)) deps.told(why);
        told.add(row.id);
        return inUse[row.account]?.key;
      }),
  };
};

/** Whether any of these providers and accounts has a key. */
export const hasCredential = ({ providers }: Pick<Settings, "providers">, known: ReadonlySet<string>): boolean =>
  Object.entries(providers).some(([id, { key }]) => key !== undefined && known.has(id));

/** What a service without any key lacks, and how it gets it while it runs. */
export const NO_KEY =
  "no provider has a key, so no model is available: set one on the console's page Providers (Set key), with genrouter providers set-key PROVIDER, or as a setting like GENROUTER_PROVIDERS__FAL__KEY_FILE";
