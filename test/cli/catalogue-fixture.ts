// The inventory and the vault for the admin service of a test: built-in providers and catalogue over the store of the test.

import { readSettings } from "../../src/config/load.ts";
import { createProviders, providerFacts } from "../../src/providers/providers.ts";
import { createVault } from "../../src/providers/vault.ts";
import { createInventory } from "../../src/routing/inventory.ts";
import { catalogueOf, dialectsOf } from "../../src/routing/load-catalogue.ts";
import type { Store } from "../../src/store/store.ts";

/** @param dir The directory with the master key of the vault. */
export const inventoryOver = (store: Store, dir: string, env: Record<string, string> = {}) => {
  const settings = readSettings(env);
  const inventory = createInventory({
    ...{ settings: () => settings, simulated: false, facts: providerFacts(dialectsOf(settings)) },
    ...{ catalogue: () => catalogueOf(settings, false), reads: store },
  });
  const providers = async () => createProviders({ settings: settings.providers, isOwned: () => Promise.resolve(false) });
  return { inventory, vault: createVault(dir), providers, rekeyed: () => undefined, submit: null, decide: null };
};
