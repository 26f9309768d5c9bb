// The office of a house: what an operator may do there, over its own catalogue, providers and keys.
import type { Catalogue } from "../catalogue/load.ts";
import { type Office, openOffice } from "../src/admin/admin-service.ts";
import type { Rooms } from "../src/app/components.ts";
import type { Settings } from "../src/config/schema.ts";
import { providerFacts } from "../src/providers/providers.ts";
import { openVault } from "../src/providers/vault.ts";
import { openMarket } from "../src/routing/inventory.ts";
import { dialectsOf } from "../src/routing/load-catalogue.ts";
import type { Store } from "../src/store/store.ts";
import type { TestClock } from "./clock.ts";

type Of = { settings: Settings; store: Store; catalogue: Catalogue; clock: TestClock; dir: string; rooms: () => Rooms };

export const officeOf = async ({ settings, store, catalogue, clock, dir, rooms }: Of): Promise<Office> => {
  const { post, submit, decide, rekeyed, providers } = rooms();
  return openOffice({
    ...{ reads: store, mode: "test", post, clock, submit, decide, rekeyed, vault: openVault(dir, store.nodes !== null) },
    market: openMarket({
      ...{ settings: () => settings, simulated: false, facts: providerFacts(dialectsOf(settings)), reads: store },
      catalogue: () => catalogue,
    }),
    providers: () => Promise.resolve(providers),
  });
};
