// Drain: ends periodic work and running work, and then stops all components.
import type { Settings } from "../config/schema.ts";
import type { CrashLoop } from "../generations/crash-loop-guard.ts";
import type { Log } from "../logging/events.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ComponentList } from "./component-list.ts";
import type { PeriodicWork } from "./periodic-work.ts";
import type { Components } from "./service-types.ts";

export type DrainDeps = {
  settings: Pick<Settings, "server">;
  log: Log;
  telemetry: Pick<Telemetry, "flush">;
  components: Pick<Components, "supervisor" | "drain" | "upkeep">;
  periodicWork: PeriodicWork;
  /** Null in a cluster. */
  crashLoop: CrashLoop | null;
  /** All components of the service. */
  list: Pick<ComponentList, "stop">;
};

/** Creates the function that ends the service in order. */
export const createDrain = ({ settings, log, telemetry, components, periodicWork, crashLoop, list }: DrainDeps) => {
  const longestMs = settings.server.drain_s * 1000;
  const openWork = () => {
    const { queued, running } = components.supervisor.counts();
    return { queued, running };
  };
  return async (): Promise<void> => {
    const startedMs = performance.now();
    log("service draining", {
      ...openWork(),
      reason: "open generations continue at the next start; open requests and responses end now",
    });
    await periodicWork.stop();
    // Its steps are short, except the copy of a large database; the next backup deletes an incomplete one.
    const backedUp = periodicWork.nightly.stop(longestMs);
    await components.drain(longestMs);
    await backedUp;
    await components.upkeep.noteKeyUse().catch(() => undefined);
    const left = openWork();
    // A full disk keeps the count, which only slows the next start.
    await crashLoop?.stopped().catch(() => undefined);
    try {
      await list.stop();
    } finally {
      log("service stopped", { ...left, dur_ms: Math.round(performance.now() - startedMs) });
      await telemetry.flush();
    }
  };
};
