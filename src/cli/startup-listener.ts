// Answers requests while the service starts: health, readiness, gauges, and 503 otherwise.
//
// Every other request is rejected with `restarting`, so clients may send it again. A browser reads a page that reloads.
import type { Settings } from "../config/schema.ts";
import { ApiError } from "../domain/api-errors.ts";
import { urlOf } from "../http/client-address.ts";
import { aliveness, readinessAnswer } from "../http/endpoints/health.ts";
import { metricsAnswer } from "../http/endpoints/metrics.ts";
import { errorResponse } from "../http/errors.ts";
import { opensPage } from "../http/pages/page-request.ts";
import { requestIdOf } from "../http/response.ts";
import { startingMetrics } from "../telemetry/startup-gauges.ts";

export type StartingServer = {
  /** URL of the listener. */
  url: URL;
  /** Reports in /readyz and in the metrics that the database is unavailable. */
  withoutStore(fault: string): void;
  stop(): Promise<void>;
};

/** Content of the page, which is loaded when a browser opens it. */
const page = () => import("../http/pages/starting-page.ts");
const assets = () => import("../http/pages/assets.ts");
const ASSETS = "/docs/assets/";

/**
 * Listens on an unshared port. With a shared port, two services would receive requests alternately.
 * @throws the system's error if the address is not available
 */
export const createStartingServer = (settings: Settings): StartingServer => {
  const { host: hostname, port, public_url: publicUrl } = settings.server;
  /** What the start waits for; null if it waits for nothing. */
  let reason: string | null = null;
  const readiness = readinessAnswer(() => ({ ready: false, faults: [reason ?? "the service is starting"] }));
  const server = Bun.serve({
    ...{ hostname, port, reusePort: false, development: false },
    fetch: async (request) => {
      const requestId = requestIdOf(request);
      const { pathname } = urlOf(request);
      if (pathname === "/healthz") return aliveness(request, requestId, {});
      if (pathname === "/readyz") return readiness(request, requestId, {});
      try {
        if (pathname === "/metrics") return await metrics(request, requestId, {});
        if (pathname.startsWith(ASSETS))
          return await (await assets()).answerAsset(request, requestId, pathname.slice(ASSETS.length));
        if (opensPage(request)) return (await page()).startingPage(reason, requestId, publicUrl.startsWith("https:"));
      } catch (fault) {
        if (fault instanceof ApiError) return errorResponse(fault, requestId);
        throw fault;
      }
      return errorResponse(new ApiError("restarting", "The service is starting; send the same request again."), requestId);
    },
  });
  const metrics = metricsAnswer(
    { settings, metrics: () => Promise.resolve(startingMetrics(reason === null)) },
    (request) => server.requestIP(request)?.address,
  );
  return {
    url: server.url,
    withoutStore: (fault) => {
      reason = fault;
    },
    stop: () => server.stop(true),
  };
};
