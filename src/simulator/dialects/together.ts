// Simulates Together AI's images as documented: as URLs or as base64.
//
// Error texts are more specific than error codes.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, noteOnce, type Problem, takeIn } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, numberOf } from "../faults.ts";
import { bodyObject, json, page, type Reply } from "../http-server.ts";
import type { Job } from "../jobs.ts";

const PROVIDER = "together";
/** A response that never arrives: the longest delay of a timer. */
const NEVER_MS = 2_147_483_647;
const MAX_PICTURES = 4;

/** Names of requests in the gateway's format; results use them as well. */
const requestName = () => `o${randomBytes(3).toString("hex")}-2kFHot-${randomBytes(8).toString("hex")}-SJC`;

type ErrorWords = { type?: string; param?: string | null; code?: string | null; headers?: Record<string, string> };
/** Together's error body, usually without a code. */
export const togetherError = (status: number, message: string, words: ErrorWords = {}): Reply => {
  const { type = "invalid_request_error", param = null, code = null, headers = {} } = words;
  return json(status, { id: requestName(), error: { message, type, param, code } }, headers);
};

export const refusedByTogether = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return togetherError(401, "Invalid API key provided.", { code: "invalid_api_key" });
    case "402":
      return togetherError(402, "Credit limit exceeded.", { type: "credit_limit" });
    case "403":
      return togetherError(403, "The model is not open to this account.");
    case "404":
      return togetherError(404, "Unable to access model.", { code: "model_not_available" });
    case "429": {
      // Has the same type as an empty balance.
      const headers = { "retry-after": String(numberOf(fault, "retry_after_s")), "x-ratelimit-remaining": "0" };
      return togetherError(429, "You have been rate limited. Your rate limit is 60 queries per minute.", {
        type: "credit_limit",
        headers,
      });
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

export const invalidForTogether = ([first]: readonly Problem[]): Reply =>
  first?.field
    ? togetherError(400, `Invalid value of '${first.field}': ${first.message}`, { param: first.field })
    : togetherError(400, "The body is not valid JSON.");

/** Checks the value of a field. */
export type Check = (value: unknown) => boolean;
export const isText: Check = (value) => typeof value === "string" && value !== "";
export const isNumber: Check = (value) => typeof value === "number";
export const isWhole: Check = (value) => Number.isInteger(value);
export const isFlag: Check = (value) => typeof value === "boolean";
export const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === "string" && words.includes(value);
export const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** The error of a body, which must contain `needed` and only fields of the table. */
export const wrongByTable = (
  body: JsonObject,
  table: Readonly<Record<string, Check>>,
  needed: readonly string[],
): Reply | undefined => {
  const lacking = needed.find((name) => body[name] === undefined);
  if (lacking !== undefined) return togetherError(400, `Missing required parameter '${lacking}'.`, { param: lacking });
  const param = Object.keys(body).find((name) => !(table[name]?.(body[name]) ?? false));
  return param === undefined ? undefined : togetherError(400, `Unsupported use of '${param}' parameter.`, { param });
};

const TAKEN: Readonly<Record<string, Check>> = {
  ...{ model: isText, prompt: isText, negative_prompt: isText, seed: isWhole, steps: isWhole, guidance_scale: isNumber },
  ...{ width: isWhole, height: isWhole, aspect_ratio: isText, image_url: isText, reference_images: isListOf(isText) },
  n: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_PICTURES,
  ...{ response_format: isOneOf("base64", "url"), output_format: isOneOf("jpeg", "png") },
  ...{ disable_safety_checker: isFlag, prompt_upsampling: isFlag, image_loras: Array.isArray },
};

const inputOf = ({
  prompt,
  width,
  height,
  aspect_ratio,
  n,
  output_format,
  image_url,
  reference_images,
  seed,
}: JsonObject): JsonObject => {
  const side = 1024;
  const size = aspect_ratio === undefined ? { width: width ?? side, height: height ?? side } : { aspect_ratio };
  const declared = { image_url, image_urls: reference_images, seed };
  const given = Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== undefined)) as JsonObject;
  return { prompt: prompt ?? "", num_images: n ?? 1, output_format: output_format ?? "jpeg", ...size, ...given };
};

/** The error instead of an image; undefined if the job succeeds. Only the text identifies a content refusal. */
const failureOf = ({ faults: { run } }: Job): Reply | undefined => {
  if (isFault(run, "refuse")) return togetherError(422, "prompt may contain NSFW content");
  if (isFault(run, "refuse-output", "withheld"))
    return togetherError(
      400,
      "Invalid content detected. The generated content was flagged and rejected by the model's content moderation system",
    );
  if (isFault(run, "input-unreachable"))
    return togetherError(400, "The image at 'image_url' could not be read.", { param: "image_url" });
  if (isFault(run, "fail", "fail-later", "aborted")) return togetherError(500, "Internal server error", { type: "server_error" });
  return undefined;
};

const picturesOf = async (bench: Bench, job: Job, isInline: boolean, origin: string): Promise<Reply> => {
  const pictures = isInline
    ? (await bench.results.hand(job)).map(({ bytes }, index) => ({
        ...{ index, b64_json: Buffer.from(bytes).toString("base64"), type: "b64_json" },
        timings: { inference: (job.plan.totalMs ?? 0) / 1000 },
      }))
    : (await bench.results.announce(job, origin)).map(({ url }, index) => ({ index, url, type: "url" }));
  return json(200, { id: job.id, object: "list", model: job.endpoint, data: pictures });
};

const wordsFor = (bench: Bench, body: JsonObject | undefined): DialectResponses => {
  const wrong = body && wrongByTable(body, TAKEN, ["model", "prompt"]);
  return {
    provider: PROVIDER,
    checksAtOnce: true,
    newId: requestName,
    inputOf: (given) => (wrong ? undefined : inputOf(given)),
    accepted: async (job, { origin }) => ({
      ...(failureOf(job) ?? (await picturesOf(bench, job, body?.response_format === "base64", origin))),
      delayMs: job.plan.totalMs ?? NEVER_MS,
      onSent: () => void noteOnce(bench, job, "announced").catch(() => undefined),
    }),
    withoutId: () => json(200, { object: "list", data: [] }),
    refused: refusedByTogether,
    invalid: (problems) => wrong ?? invalidForTogether(problems),
  };
};

/** Handles a request below `/together/v1`. */
export const handleTogether: DialectHandler = async (bench, request, path) => {
  if (path !== "/images/generations") return togetherError(404, `Unknown request URL: ${request.method} /v1${path}.`);
  if (request.method !== "POST") return togetherError(405, `Method ${request.method} is not allowed.`);
  const body = bodyObject(request);
  const model = typeof body?.model === "string" ? body.model : "";
  return takeIn(bench, wordsFor(bench, body), request, model, credentialOf(request, "Bearer"));
};
