// Renders `/llms.txt`: a short plain-text description of the API for language models.
import { API_ERRORS } from "../../domain/api-errors.ts";
import { GENERATION_ERROR_CODES, GENERATION_STATUSES, INTERFACE_VERSION, type JsonObject } from "../../domain/types.ts";
import { openApiPaths } from "../openapi/paths.ts";
import { signAnswer } from "../response.ts";
import { FAILURES, REMEDIES } from "./error-remedies.ts";
import { GUIDES, titleOf } from "./guide-texts.ts";

const endpoints = (): string[] =>
  Object.entries(openApiPaths() as Record<string, Record<string, JsonObject>>).flatMap(([path, item]) =>
    Object.entries(path.endsWith(".json") ? {} : item)
      .filter(([method]) => method !== "options")
      .map(([method, { summary, security }]) => {
        const isOpen = Array.isArray(security) && security.length === 0;
        return `- ${method.toUpperCase()} ${path}: ${summary}${isOpen ? " (no key)" : ""}`;
      }),
  );

const print = (): string => `# genrouter

> One API key and one request shape for image, video and audio generation, paid from prepaid credits (100 credits = 1 USD). The cheapest route
> is tried first, and the next route if it fails. Only the route that delivers is charged. Interface ${INTERFACE_VERSION}.

## How to use it

1. GET /v1/models (no key) lists the available models: id, kind, tasks, options (allowed fields, values, defaults), price.
2. POST /v1/generations with \`Authorization: Bearer <key>\`, \`Content-Type: application/json\` and an \`Idempotency-Key\` that you create.
   Body: {"model": id, "input": {fields of the model's options}, "max_cost_usd"?: up to 100, "max_wait_s"?: 1 to 86400}. Unknown fields are rejected.
   Response: 202 and the generation. On a lost connection, 429, 500 or 503 send the same body with the same key again, after Retry-After.
3. GET /v1/generations/{id} every 2 to 10 seconds until status is succeeded or failed (${GENERATION_STATUSES.join(", ")}).
   With the header \`Prefer: wait=30\` the response of 2 and 3 waits until the generation has ended, at most 60 seconds.
   POST /v1/quotes with the body of 2 returns price and expected time, and submits nothing.
4. GET /v1/generations/{id}/content for the first file, /content/2, /content/3 … for further ones (output.urls lists all).
   Follow a redirect without the key. output.urls are links that need no key and expire soon; pages of any site may fetch them.
   Content-Type is the type of a file: usually video/mp4, image/png, image/jpeg, image/webp, audio/mpeg or audio/wav. A file in another format
   that cannot be converted to these types without loss (an animated GIF, an SVG, a GLB, FLAC …) keeps its own type.

A generation: {id, object: "generation", model, status, message?, output: {urls, width?, height?, duration_s?, has_audio?} or null, quoted_usd,
reserved_usd, cost_usd, attempts, error: {code, message} or null, created_at, completed_at}. Failed generations are not charged.

## Endpoints

${endpoints().join("\n")}

## Errors

Body: {"error": {"code", "message"}}. Each code has an anchor: /docs/errors#code

${Object.entries(API_ERRORS)
  .map(([code, { status, when }]) => `- ${status} ${code}: ${when} ${REMEDIES[code as keyof typeof REMEDIES]}`)
  .join("\n")}

error.code of a failed generation:

${GENERATION_ERROR_CODES.map((code) => `- ${code}: ${FAILURES[code].when} ${FAILURES[code].remedy}`).join("\n")}

## More

- [OpenAPI 3.1](/openapi.json): every field, status and header
- [Reference](/docs) and [error catalogue](/docs/errors) for people
${Object.entries(GUIDES)
  .map(([name, text]) => `- [${titleOf(text)}](/docs/guides/${name})`)
  .join("\n")}
- [Model list as a file](/models.json)
`;

const TEXT = print();

export const llmsText = (requestId: string): Response => {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "public, max-age=300" };
  return signAnswer(new Response(TEXT, { headers }), requestId);
};
