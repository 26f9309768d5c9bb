// Serves the liveness probe /healthz and the readiness probe /readyz.
import { API_ERRORS } from "../../domain/api-errors.ts";
import { type Answer, answerJson } from "../response.ts";

export type Readiness = () => { ready: boolean; faults: string[] };

/** Returns 200 as long as the process can answer. */
export const aliveness: Answer = (_request, requestId) => answerJson(200, '{"status":"ok"}', requestId);

/** Returns 200, or 503 with the faults as sentences. The body is a normal error body with an additional list of faults. */
export const readinessAnswer =
  (readiness: Readiness): Answer =>
  (_request, requestId) => {
    const { ready, faults } = readiness();
    if (ready) return answerJson(200, JSON.stringify({ status: "ready", faults }), requestId);
    const error = { code: "restarting", message: `Not ready: ${faults.join("; ") || "starting"}.` };
    const response = answerJson(API_ERRORS.restarting.status, JSON.stringify({ error, status: "not ready", faults }), requestId);
    response.headers.set("retry-after", String(API_ERRORS.restarting.retryAfterS));
    return response;
  };
