// Parts of operations that the paths of the OpenAPI document share.
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, headers, jsonAnswer, type No, noes, parameterRef, WRONG_METHOD } from "./components.ts";

/** Errors of every endpoint with a key. */
export const KEYED: readonly No[] = [
  "unauthorized",
  "account_disabled",
  "rate_limited",
  "restarting",
  "busy",
  "server_error",
  WRONG_METHOD,
];
/** Errors of every endpoint without a key. */
export const OPEN: readonly No[] = ["server_error", WRONG_METHOD];

export const keyed = { security: [{ apiKey: [] }] };
export const open = { security: [] };
export const withRequestId = (...names: string[]) => [...names, "RequestId"].map(parameterRef);

const PUBLIC_HEADERS = ["Cache-Control", "ETag", "Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];
/** Responses of public JSON with an ETag. */
export const publicJson = (description: string, schema: JsonObject, ...list: No[]): JsonObject => ({
  "200": jsonAnswer(description, schema, [...PUBLIC_HEADERS, "Content-Encoding"]),
  "304": { description: "The stored copy of the caller is current.", headers: headers(...PUBLIC_HEADERS) },
  ...noes(...list, ...OPEN),
});

/** The preflight request of a public path. */
export const preflight = (operationId: string, summary: string, ...parameters: string[]): JsonObject => ({
  operationId,
  summary,
  tags: ["cors"],
  ...open,
  ...EXTENSION,
  parameters: withRequestId(...parameters),
  responses: {
    "204": {
      description: "Pages of any site may read this path.",
      headers: headers(
        "Allow",
        "Access-Control-Allow-Origin",
        "Access-Control-Allow-Methods",
        "Access-Control-Allow-Headers",
        "Access-Control-Max-Age",
      ),
    },
    ...noes(...OPEN),
  },
});
