// Start of the service: it listens, recovers open generations and logs both.
import type { Settings } from "../config/schema.ts";
import { StoreUnknown } from "../domain/commit-errors.ts";
import type { ResultStorage } from "../files/create-storage.ts";
import type { CrashLoop } from "../generations/crash-loop-guard.ts";
import { logRestoredState } from "../generations/restored-state.ts";
import type { Log } from "../logging/events.ts";
import { hasCredential, NO_KEY } from "../providers/credentials.ts";
import type { Dialects } from "../providers/dialect/load.ts";
import { knownAccounts } from "../routing/load-catalogue.ts";
import type { Store } from "../store/store.ts";
import type { ComponentList } from "./component-list.ts";
import { logMaintenanceFailure } from "./maintenance.ts";
import type { Components, ServerOptions } from "./service-types.ts";

export type StartupDeps = Pick<ServerOptions, "simulate" | "beforeListening"> & {
  /** With the credentials of the providers. */
  settings: Settings;
  dialects: Dialects;
  log: Log;
  store: Pick<Store, "restored">;
  storage: Pick<ResultStorage, "begin">;
  components: Pick<Components, "http" | "address" | "recover" | "leaseKeeper">;
  /** Null in a cluster. */
  crashLoop: CrashLoop | null;
  /** Called if the outcome of a commit is unknown: the process has to end. */
  unknownOutcome: () => void;
};

const createRecovery = ({ log, store, storage, components, crashLoop, unknownOutcome }: StartupDeps) => {
  const failed = logMaintenanceFailure(log);
  return async (): Promise<void> => {
    await crashLoop?.begin();
    await components.recover();
    await components.leaseKeeper?.begin();
    storage.begin();
    logRestoredState(log, await store.restored());
    crashLoop?.recovered().catch((fault: unknown) => (fault instanceof StoreUnknown ? unknownOutcome() : failed(fault)));
  };
};

/** The service answers polls and replays when it listens, and submissions after recovery has read the store. */
export const addStartup = (list: ComponentList, deps: StartupDeps): void => {
  const { settings, dialects, simulate, log, components } = deps;
  // The component "HTTP server" closes the port.
  list.add({
    name: "listener",
    start: async () => {
      await deps.beforeListening?.();
      const { url } = await components.http.listen(settings.server);
      components.address.listensAt(url);
      log("service listening", { url, pid: process.pid });
      if (!simulate && !hasCredential(settings, knownAccounts(dialects))) log("provider keys missing", { reason: NO_KEY });
    },
  });
  list.add({ name: "recovery", start: createRecovery(deps) });
};
