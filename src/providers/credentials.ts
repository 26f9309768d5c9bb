// Provider credentials, read from the configuration, from a key file, or from the vault.
//
// The sources have precedence in this order.
import { readFileSync } from "node:fs";
import { BadSetting, providerSetting, type Settings } from "../config/schema.ts";
import { codeOf, isPassing } from "../config/value-files.ts";
import type { ProviderKeyRow } from "../store/store.ts";
import { type Vault, VaultFault } from "./vault.ts";

export type KeySource = { from: "settings" } | { from: "file"; path: string } | { from: "vault"; id: string; setAtMs: number };

/** The source of an account's credential in the configuration; undefined if the configuration has none. */
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
  throw new BadSetting(`${providerSetting(account)}__KEY_FILE: ${path} is empty; it must contain only the key`);
};

/**
 * The settings with the credential of each provider that has one.
 * @param instead returns the credential to use if a stored credential cannot be decrypted; if absent, this is an error
 * @throws BadSetting one line, for a key file that cannot be read and for a stored credential that cannot be decrypted
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
  /**
   * For a start. A node that cannot decrypt a credential could not poll the jobs that it takes over, so this throws. @throws
   * BadSetting
   */
  first(kept: readonly ProviderKeyRow[]): Settings;
  /**
   * For a change of credentials by another node. If a stored credential cannot be decrypted here, the provider keeps its current
   * one and the reason is reported once; all others apply. @throws BadSetting
   */
  next(kept: readonly ProviderKeyRow[]): Settings;
};
/** Creates the keyring, which holds the credentials in use while they change. */
export const createCredentials = (deps: { settings: () => Settings; vault: Vault; onReport: (why: string) => void }): Keyring => {
  let inUse: Settings["providers"] = {};
  const reported = new Set<string>();
  const take = (kept: readonly ProviderKeyRow[], instead?: Parameters<typeof withKeys>[3]): Settings => {
    const keyed = withKeys(deps.settings(), kept, deps.vault, instead);
    inUse = keyed.providers;
    return keyed;
  };
  return {
    first: (kept) => take(kept),
    next: (kept) =>
      take(kept, (row, why) => {
        if (!reported.has(row.id)) deps.onReport(why);
        reported.add(row.id);
        return inUse[row.account]?.key;
      }),
  };
};

/** Whether any of the known providers and accounts has a credential. */
export const hasCredential = ({ providers }: Pick<Settings, "providers">, known: ReadonlySet<string>): boolean =>
  Object.entries(providers).some(([id, { key }]) => key !== undefined && known.has(id));

/** The message for a service without any credential, and how to set one while the service runs. */
export const NO_KEY =
  "no provider has a key, so no model is available: set one on the console's page Providers (Set key), with genrouter providers set-key PROVIDER, or as a setting like GENROUTER_PROVIDERS__FAL__KEY_FILE";
