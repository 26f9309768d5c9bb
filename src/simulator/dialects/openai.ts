// Simulates OpenAI's Images API as documented: generations and edits.
//
// The response contains the images; codes distinguish its errors.
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, type Problem, takeIn } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, numberOf } from "../faults.ts";
import { bodyObject, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrDataUri } from "../inline-media.ts";
import type { Job } from "../jobs.ts";
import { formObject } from "../multipart.ts";

/** A response that never arrives: the longest delay of a timer. */
const NEVER_MS = 2_147_483_647;
const MAX_PROMPT = 32_000;

type ErrorWords = { type?: string; param?: string | null; headers?: Record<string, string> } & JsonObject;
/** OpenAI's error body; only `code` distinguishes errors with the same HTTP status. */
export const openaiError = (status: number, code: string | null, message: string, words: ErrorWords = {}): Reply => {
  const { type = "invalid_request_error", param = null, headers = {}, ...more } = words;
  return json(status, { error: { message, type, param, code, ...more } }, headers);
};

export const refusedByOpenAI = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return openaiError(401, "invalid_api_key", "Incorrect API key provided.");
    case "402":
      // An empty balance is also a 429.
      return openaiError(429, "insufficient_quota", "You exceeded your current quota.", { type: "insufficient_quota" });
    case "403":
      return openaiError(403, null, "Your organization must be verified to use the model.");
    case "404":
      return openaiError(404, "model_not_found", "The model does not exist or you do not have access to it.");
    case "429": {
      const seconds = numberOf(fault, "retry_after_s");
      const headers = {
        ...{ "retry-after": String(seconds), "retry-after-ms": String(seconds * 1000) },
        ...{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": `${seconds}s` },
      };
      const message = `Rate limit reached on requests per min. Please try again in ${seconds}s.`;
      return openaiError(429, "rate_limit_exceeded", message, { type: "requests", headers });
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const missing = (param: string): Reply =>
  openaiError(400, "missing_required_parameter", `Missing required parameter: '${param}'.`, { param });
export const unknownParameter = (param: string): Reply =>
  openaiError(400, "unknown_parameter", `Unknown parameter: '${param}'.`, { param });
export const wrongType = (param: string, expected: string): Reply =>
  openaiError(400, "invalid_type", `Invalid type for '${param}': expected ${expected}.`, { param });
export const wrongValue = (param: string, message: string): Reply => openaiError(400, "invalid_value", message, { param });

export const invalidForOpenAI = ([first]: readonly Problem[]): Reply => {
  if (!first || first.field === null) return openaiError(400, null, "We could not parse the JSON body of your request.");
  return first.type === "missing" ? missing(first.field) : wrongValue(first.field, `Invalid value for '${first.field}'.`);
};

/** The error of a prompt; undefined if it is valid. */
export const wrongPrompt = (prompt: unknown): Reply | undefined => {
  if (prompt === undefined) return missing("prompt");
  if (typeof prompt !== "string") return wrongType("prompt", "a string");
  if (prompt.length >= 1 && prompt.length <= MAX_PROMPT) return undefined;
  const code = prompt.length === 0 ? "string_below_min_length" : "string_above_max_length";
  return openaiError(400, code, `Invalid 'prompt': 1 to ${MAX_PROMPT} characters.`, { param: "prompt" });
};

/** A URL has at most 20 MB of characters. */
const MAX_DATA_MB = 15;
/** An image is given by its URL, which can be a data URI, or by the id of an uploaded file, never by both. */
export const isImageReference = (value: unknown): boolean => {
  if (!isObject(value)) return false;
  const [given, ...others] = Object.entries(value);
  if (given === undefined || others.length > 0) return false;
  const [name, reference] = given;
  return name === "image_url"
    ? linkOrDataUri(reference, ["image"], MAX_DATA_MB) !== null
    : name === "file_id" && typeof reference === "string";
};

/** The parameters of the current models; streaming is not simulated. */
const APPEARANCE_FIELDS = ["size", "quality", "output_format", "output_compression", "background"];
const TAKEN = ["model", "prompt", "n", "moderation", "complexity", "user", "safety_identifier", ...APPEARANCE_FIELDS];
const TAKEN_BY_EDITS = [...TAKEN, "images", "mask", "input_fidelity"];
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  quality: ["low", "medium", "high", "auto"],
  complexity: ["low", "medium", "high"],
  output_format: ["png", "jpeg", "webp"],
  background: ["transparent", "opaque", "auto"],
  moderation: ["low", "auto"],
  input_fidelity: ["high", "low"],
};
/** Models with more quality levels than `high`. */
const FINER = /^gpt-image-2\.5-/;
const FINER_QUALITIES = ["xhigh", "max"];
const MAX_PICTURES = 10;
const MAX_INPUTS = 16;
const MAX_EDGE = 3840;

/** Sizes: `auto`, or multiples of 16 from 1:3 to 3:1. */
const wrongSize = (size: unknown): Reply | undefined => {
  if (size === undefined || size === "auto") return undefined;
  const [, w = "0", h = "0"] = (typeof size === "string" && /^(\d+)x(\d+)$/.exec(size)) || [];
  const [width, height] = [Number(w), Number(h)];
  const isFine =
    width > 0 && width % 16 === 0 && height > 0 && height % 16 === 0 && Math.max(width / height, height / width) <= 3;
  if (isFine && Math.max(width, height) <= MAX_EDGE) return undefined;
  const message = `Invalid size '${String(size)}'.`;
  // Not every error of this type is a content refusal.
  return openaiError(400, "invalid_value", message, { type: "image_generation_user_error", param: "size" });
};

const wrongWith = (body: JsonObject, isEdit: boolean): Reply | undefined => {
  const taken = isEdit ? TAKEN_BY_EDITS : TAKEN;
  const unknown = Object.keys(body).find((name) => !taken.includes(name));
  if (unknown !== undefined) return unknownParameter(unknown);
  const { n, images } = body;
  if (n !== undefined && !Number.isInteger(n)) return wrongType("n", "an integer");
  if (n !== undefined && (Number(n) < 1 || Number(n) > MAX_PICTURES))
    return wrongValue("n", `Invalid 'n': 1 to ${MAX_PICTURES}.`);
  const finer = FINER.test(String(body.model)) ? FINER_QUALITIES : [];
  for (const [name, usual] of Object.entries(CHOICES)) {
    const choices = name === "quality" ? [...usual, ...finer] : usual;
    if (body[name] !== undefined && !choices.includes(String(body[name])))
      return wrongValue(name, `Invalid value: '${String(body[name])}'. Supported values are: ${choices.join(", ")}.`);
  }
  if (isEdit && images === undefined) return missing("images");
  if (isEdit && !(Array.isArray(images) && images.length <= MAX_INPUTS && images.length > 0 && images.every(isImageReference)))
    return wrongType("images", `a list of 1 to ${MAX_INPUTS} references to images`);
  if (isEdit && body.mask !== undefined && !isImageReference(body.mask)) return wrongType("mask", "a reference to an image");
  if (body.user !== undefined && typeof body.user !== "string") return wrongType("user", "a string");
  return wrongPrompt(body.prompt) ?? wrongSize(body.size);
};

/** The body. An edit can also be a form, in which images are files and numbers are strings. */
const bodyOf = (request: SimulatorRequest): JsonObject | undefined => {
  const form = formObject(request);
  if (form === undefined) return bodyObject(request);
  const { image, mask, n, output_compression, ...rest } = form;
  const files = image === undefined ? [] : [image].flat();
  return {
    ...rest,
    ...(files.length === 0 ? {} : { images: files.map((image_url) => ({ image_url })) }),
    ...(mask === undefined ? {} : { mask: { image_url: mask } }),
    ...(n === undefined ? {} : { n: Number(n) }),
    ...(output_compression === undefined ? {} : { output_compression: Number(output_compression) }),
  };
};

const inputOf = ({ prompt, n, size, output_format, images, mask }: JsonObject): JsonObject => {
  const input: JsonObject = { prompt: prompt ?? "", num_images: n ?? 1, output_format: output_format ?? "png" };
  if (size !== undefined && size !== "auto") input.size = size;
  const links = (Array.isArray(images) ? images : []).flatMap((image) => (isObject(image) ? (image.image_url ?? []) : []));
  if (isObject(mask) && mask.image_url !== undefined) input.mask_url = mask.image_url;
  return links.length === 0 ? input : { ...input, image_urls: links };
};

const withheld = (stage: "input" | "output"): Reply =>
  openaiError(400, "moderation_blocked", "Your request was rejected by the safety system. safety_violations=[sexual].", {
    type: "image_generation_user_error",
    moderation_details: { moderation_stage: stage, categories: ["sexual"] },
  });

/** The error instead of an image; undefined if the job succeeds. */
const failureOf = ({ faults: { run } }: Job): Reply | undefined => {
  if (isFault(run, "refuse")) return withheld("input");
  if (isFault(run, "refuse-output")) return withheld("output");
  if (isFault(run, "input-unreachable"))
    return openaiError(400, "invalid_image_url", "Error while downloading the image.", { param: "images" });
  if (isFault(run, "fail", "fail-later", "aborted"))
    return openaiError(500, "server_error", "The server had an error while processing your request.", { type: "server_error" });
  return undefined;
};

const picturesOf = async (bench: Bench, job: Job, body: JsonObject): Promise<Reply> => {
  const files = await bench.results.hand(job);
  const { sketch } = await bench.results.parsedRequestOf(job);
  const shown = isFault(job.faults.run, "withheld") ? [] : files;
  const { quality, background, output_format = "png" } = body;
  const [input_tokens, output_tokens] = [50, 6200 * files.length];
  return json(200, {
    created: Math.floor(bench.clock.nowMs() / 1000),
    background: background === "transparent" ? background : "opaque",
    output_format,
    quality: quality === undefined || quality === "auto" ? "high" : quality,
    size: `${sketch.width}x${sketch.height}`,
    data: shown.map(({ bytes }) => ({ b64_json: Buffer.from(bytes).toString("base64") })),
    usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
  });
};

const wordsFor = (bench: Bench, body: JsonObject | undefined, isEdit: boolean): DialectResponses => {
  const wrong = body && wrongWith(body, isEdit);
  return {
    provider: "openai",
    checksAtOnce: true,
    // Only the log contains it, because a response has no job id.
    newId: () => `image-${randomUUID()}`,
    bodyOf: isEdit ? bodyOf : bodyObject,
    inputOf: (given) => (wrong ? undefined : inputOf(given)),
    markOf: ({ safety_identifier, user }) => safety_identifier || user,
    accepted: async (job) => ({
      ...(failureOf(job) ?? (await picturesOf(bench, job, body ?? {}))),
      delayMs: job.plan.totalMs ?? NEVER_MS,
    }),
    withoutId: () => json(200, { created: Math.floor(bench.clock.nowMs() / 1000) }),
    refused: refusedByOpenAI,
    invalid: (problems) => wrong ?? invalidForOpenAI(problems),
  };
};

/** Handles a request below `/openai/v1`. */
export const handleOpenAI: DialectHandler = async (bench, request, path) => {
  const [, kind] = /^\/images\/(generations|edits)$/.exec(path) ?? [];
  if (kind === undefined) return openaiError(404, null, `Invalid URL (${request.method} /v1${path})`);
  if (request.method !== "POST") return openaiError(405, null, `Not allowed to ${request.method} on /v1${path}.`);
  const isEdit = kind === "edits";
  const body = isEdit ? bodyOf(request) : bodyObject(request);
  const model = typeof body?.model === "string" ? body.model : "gpt-image-1.5";
  return takeIn(bench, wordsFor(bench, body, isEdit), request, model, credentialOf(request, "Bearer"));
};
