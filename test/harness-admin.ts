// The admin service of a harness, with the catalogue, the providers and the keys of the harness.
import type { Catalogue } from "../catalogue/load.ts";
import { type AdminService, createAdminService } from "../src/admin/admin-service.ts";
import type { Components } from "../src/app/components.ts";
import type { Settings } from "../src/config/schema.ts";
import { providerFacts } from "../src/providers/providers.ts";
import { createVault } from "../src/providers/vault.ts";
import { createInventory } from "../src/routing/inventory.ts";
import { dialectsOf } from "../src/routing/load-catalogue.ts";
import type { Store } from "../src/store/store.ts";
import type { TestClock } from "./clock.ts";

type Of = { settings: Settings; store: Store; catalogue: Catalogue; clock: TestClock; dir: string; components: () => Components };

export const adminOf = async ({ settings, store, catalogue, clock, dir, components }: Of): Promise<AdminService> => {
  const { post, submit, decide, rekeyed, providers } = components();
  return createAdminService({
    ...{ reads: store, mode: "test", post, clock, submit, decide, rekeyed, vault: createVault(dir, store.nodes !== null) },
    inventory: createInventory({
      ...{ settings: () => settings, simulated: false, facts: providerFacts(dialectsOf(settings)), reads: store },
      catalogue: () => catalogue,
    }),
    providers: () => Promise.resolve(providers),
  });
};
