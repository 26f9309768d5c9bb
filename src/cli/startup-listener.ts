// What answers at the service's address while there is no service yet: that the process lives, why it is not ready, the gauges that say so, and
// that every request may be sent again.
import type { Settings } from "../config/schema.ts";
import { ApiError } from "../domain/api-errors.ts";
import { aliveness, readinessAnswer } from "../http/endpoints/health.ts";
import { metricsAnswer } from "../http/endpoints/metrics.ts";
import { answerRefusal } from "../http/errors.ts";
import { requestIdOf } from "../http/response.ts";
import { startingMetrics } from "../telemetry/startup-gauges.ts";

export type StartingServer = {
  /** Where it listens. */
  url: URL;
  /** The database does not answer: for /readyz, and for who watches the metrics. */
  withoutStore(reason: string): void;
  stop(): Promise<void>;
};

/**
 * Listens at an address that it shares with nobody: sockets that share a port would let two services take turns at the same callers.
 * @throws the system's error for an address that cannot be had
 */
export const createStartingServer = (settings: Settings): StartingServer => {
  const { host: hostname, port } = settings.server;
  let faults = ["the service is starting"];
  let isStoreAvailable = true;
  const readiness = readinessAnswer(() => ({ ready: false, faults }));
  const server = Bun.serve({
    ...{ hostname, port, reusePort: false },
    fetch: async (request) => {
      const requestId = requestIdOf(request);
      const { pathname } = new URL(request.url);
      if (pathname === "/healthz") return aliveness(request, requestId, {});
      if (pathname === "/readyz") return readiness(request, requestId, {});
      try {
        if (pathname === "/metrics") return await metrics(request, requestId, {});
      } catch (fault) {
        if (fault instanceof ApiError) return answerRefusal(fault, requestId);
        throw fault;
      }
      return answerRefusal(new ApiError("restarting", "The service is starting; send the same request again."), requestId);
    },
  });
  const metrics = metricsAnswer(
    { settings, metrics: () => Promise.resolve(startingMetrics(isStoreAvailable)) },
    (request) => server.requestIP(request)?.address,
  );
  return {
    url: server.url,
    withoutStore: (reason) => {
      faults = [reason];
      isStoreAvailable = false;
    },
    stop: () => server.stop(true),
  };
};
