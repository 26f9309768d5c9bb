// GET /metrics: for the operator's Prometheus, by the operator's token or from this machine alone.
import { timingSafeEqual } from "node:crypto";
import type { Settings } from "../config.ts";
import { refuse } from "../refusal.ts";
import { type Answer, signAnswer } from "./answer.ts";

export type MetricsParts = { settings: Settings; metrics: () => Promise<string> };

/** One token, given once; the scheme's case is free. */
const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const TEXT = "text/plain; version=0.0.4; charset=utf-8";

const digest = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest();
/** Compared by digest, so that it takes as long whatever is right of it, its length included. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

/** Whether an address is of this machine itself. */
export const isLoopback = (address: string): boolean => /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1";

/** What proxies put into a request that came from elsewhere; it does not matter what they say. */
export const isForwarded = ({ headers }: Request): boolean => {
  if (headers.has("forwarded") || headers.has("via") || headers.has("x-real-ip")) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
};

/** @param peerOf the address of the socket that a request came from; undefined where there is none */
export const metricsAnswer = (parts: MetricsParts, peerOf: (request: Request) => string | undefined): Answer => {
  const check = (request: Request): void => {
    const { token } = parts.settings.operator;
    if (token !== "") {
      const sent = BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
      if (sent === undefined || !isSame(sent, token))
        refuse("unauthorized", "Authorization: send Bearer and the operator's token (operator.token of the service).");
      return;
    }
    const peer = peerOf(request);
    if (peer === undefined || !isLoopback(peer) || isForwarded(request))
      refuse("unauthorized", "Without a token this answers its own machine only; set operator.token and send it as Bearer.", {
        status: 403,
      });
  };
  return async (request, requestId) => {
    check(request);
    const response = new Response(await parts.metrics(), { headers: { "content-type": TEXT, "cache-control": "no-store" } });
    return signAnswer(response, requestId);
  };
};
