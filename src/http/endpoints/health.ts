// What a supervisor asks of the process: /healthz (it lives) and /readyz (it can take work, or why not).
import { REFUSALS } from "../../domain/api-errors.ts";
import { type Answer, answerJson } from "../response.ts";

export type Readiness = () => { ready: boolean; faults: string[] };

/** 200 as long as the process answers at all. */
export const aliveness: Answer = (_request, requestId) => answerJson(200, '{"status":"ok"}', requestId);

/** 200, or 503 with the faults as sentences; the body is an error body as any other's, with the faults beside it. */
export const readinessAnswer =
  (readiness: Readiness): Answer =>
  (_request, requestId) => {
    const { ready, faults } = readiness();
    if (ready) return answerJson(200, JSON.stringify({ status: "ready", faults }), requestId);
    const error = { code: "restarting", message: `Not ready: ${faults.join("; ") || "starting"}.` };
    const response = answerJson(REFUSALS.restarting.status, JSON.stringify({ error, status: "not ready", faults }), requestId);
    response.headers.set("retry-after", String(REFUSALS.restarting.retryAfterS));
    return response;
  };
