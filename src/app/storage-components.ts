// Storage of the service: store, clock, embedded simulator, result storage and provider credentials.
import { type Clock, systemClock } from "../domain/clock.ts";
import { createResultStorage, type ResultStorage } from "../files/create-storage.ts";
import { createCredentials, type Keyring } from "../providers/credentials.ts";
import { createVault, type Vault } from "../providers/vault.ts";
import { createEmbeddedSimulator, type EmbeddedSimulator } from "../simulator/embedded.ts";
import { isNewHere, openStore } from "../store/create-store.ts";
import type { Store } from "../store/store.ts";
import type { ComponentList } from "./component-list.ts";
import type { CurrentConfig } from "./current-config.ts";
import type { ServerOptions } from "./service-types.ts";

export type StorageComponents = {
  vault: Vault;
  keyring: Keyring;
  store: Store;
  clock: Clock;
  /** Null if the providers are real. */
  simulator: EmbeddedSimulator | null;
  storage: ResultStorage;
};

export const openStorage = async (
  list: ComponentList,
  { started: settings, simulated, settings: current, catalogue }: CurrentConfig,
  { telemetry: { log }, around = (store) => store }: ServerOptions,
): Promise<StorageComponents> => {
  const vault = createVault(settings.data.dir, settings.store.url !== "");
  const keyring = createCredentials({
    settings: current,
    vault,
    onReport: (reason) => log("credential decryption failed", { reason }),
  });
  // A start without a store that fails on an unreadable key file leaves nothing behind.
  if (!simulated && isNewHere(settings)) keyring.first([]);
  const store = around(await openStore(settings, simulated ? "test" : "live", log));
  list.add({ name: "store", stop: store.close });
  const clock = systemClock(await store.lastSeenMs());
  const simulator = simulated ? await createEmbeddedSimulator(settings, catalogue) : null;
  if (simulator) list.add({ name: "simulator", stop: simulator.stop });
  const storage = await createResultStorage({ settings, clock, log, store, shared: store.node !== null });
  list.add({ name: "result storage", stop: storage.stop });
  return { vault, keyring, store, clock, simulator, storage };
};
