// What answers at the service's address while there is no service yet: that the process lives, why it is not ready, and that every request may be sent again.
import { requestIdOf } from "../http/answer.ts";
import { answerRefusal } from "../http/errors.ts";
import { aliveness, readinessAnswer } from "../http/health.ts";
import { Refusal } from "../refusal.ts";

export type StartingServer = {
  /** Where it listens. */
  url: URL;
  /** Why the service is not ready, for /readyz. */
  because(reason: string): void;
  stop(): Promise<void>;
};

/**
 * Listens at an address that it shares with nobody: sockets that share a port would let two services take turns at the same callers.
 * @throws the system's error for an address that cannot be had
 */
export const openStartingServer = (hostname: string, port: number): StartingServer => {
  let faults = ["the service is starting"];
  const readiness = readinessAnswer(() => ({ ready: false, faults }));
  const server = Bun.serve({
    ...{ hostname, port, reusePort: false },
    fetch: (request) => {
      const requestId = requestIdOf(request);
      const { pathname } = new URL(request.url);
      if (pathname === "/healthz") return aliveness(request, requestId, {});
      if (pathname === "/readyz") return readiness(request, requestId, {});
      return answerRefusal(new Refusal("restarting", "The service is starting; send the same request again."), requestId);
    },
  });
  return {
    url: server.url,
    because: (reason) => {
      faults = [reason];
    },
    stop: () => server.stop(true),
  };
};
