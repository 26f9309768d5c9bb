// The office of a house: what an operator may do there, over its own catalogue, providers and keys.
import type { Catalogue } from "../catalogue/load.ts";
import type { Settings } from "../src/config.ts";
import { openMarket } from "../src/market.ts";
import { dialectsOf } from "../src/offer.ts";
import { type Office, openOffice } from "../src/office/office.ts";
import { providerFacts } from "../src/providers/providers.ts";
import type { Rooms } from "../src/rooms.ts";
import type { Store } from "../src/store/store.ts";
import { openVault } from "../src/vault.ts";
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
