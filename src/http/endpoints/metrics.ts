// Serves GET /metrics to Prometheus, by operator token or from localhost only.
import type { Settings } from "../../config/schema.ts";
import { refuse } from "../../domain/api-errors.ts";
import { isForwarded, isLoopback, isOwnName } from "../client-address.ts";
import { type Answer, signAnswer } from "../response.ts";
import { isSameSecret } from "../timing-safe-equal.ts";

export type MetricsDeps = { settings: Settings; metrics: () => Promise<string> };

/** One token in one header. The case of the scheme is ignored. */
const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const TEXT = "text/plain; version=0.0.4; charset=utf-8";

/** @param peerOf address of the request's socket; undefined if there is none */
export const metricsAnswer = (deps: MetricsDeps, peerOf: (request: Request) => string | undefined): Answer => {
  const check = (request: Request): void => {
    const { token } = deps.settings.operator;
    if (token !== "") {
      const sent = BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
      if (sent === undefined || !isSameSecret(sent, token))
        refuse("unauthorized", "Authorization: send Bearer and the operator's token (operator.token of the service).");
      return;
    }
    const peer = peerOf(request);
    const isHome = peer !== undefined && isLoopback(peer) && !isForwarded(request) && isOwnName(request.headers.get("host"));
    // If `server.public_url` is set, a proxy or a tunnel on this machine may forward requests, so a loopback socket proves
    // nothing.
    if (!isHome || deps.settings.server.public_url !== "")
      refuse(
        "unauthorized",
        "Without operator.token, this endpoint accepts loopback requests only, and none if server.public_url is set. Set operator.token and send it as a Bearer token.",
        {
          status: 403,
        },
      );
  };
  return async (request, requestId) => {
    check(request);
    const response = new Response(await deps.metrics(), { headers: { "content-type": TEXT, "cache-control": "no-store" } });
    return signAnswer(response, requestId);
  };
};
