// Simulates Google's generateContent for images as documented.
//
// One call responds with the image; a refusal is inside a 200.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, type DialectResponses, type Problem, takeIn, whenDone } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, numberOf } from "../faults.ts";
import { type Answer, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrDataUri } from "../inline-media.ts";
import type { Job } from "../jobs.ts";

const GENERATE = /^\/models\/([\w.-]+):generateContent$/;

const failed = (code: number, status: string, message: string, details: JsonObject[] = []): Reply =>
  json(code, { error: { code, message, status, ...(details.length > 0 ? { details } : {}) } });

/** The credential of a request to Google: a header, or a query parameter. */
export const googleKeyOf = (request: SimulatorRequest): string | undefined =>
  request.headers["x-goog-api-key"]?.trim() || request.query.get("key") || undefined;

/** An invalid key is a 400 like any other invalid argument, and only the details identify it; a missing key is a 403. */
const refusedFor =
  (model: string, hasKey: boolean) =>
  (fault: Fault): Reply => {
    switch (fault.name) {
      case "401": {
        if (!hasKey)
          return failed(
            403,
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
          );
        const why = { reason: "API_KEY_INVALID", domain: "googleapis.com" };
        return failed(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            ...why,
            metadata: { service: "generativelanguage.googleapis.com" },
          },
        ]);
      }
      case "402": {
        const message =
          "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.";
        return failed(429, "RESOURCE_EXHAUSTED", message);
      }
      case "403":
        return failed(403, "PERMISSION_DENIED", "The caller does not have permission");
      case "404": {
        const message = `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`;
        return failed(404, "NOT_FOUND", message);
      }
      case "429":
        // Only the body contains the retry delay; Google sends no Retry-After.
        return failed(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", [
          { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${numberOf(fault, "retry_after_s")}s` },
        ]);
      default:
        return page(numberOf(fault, "status"), "Error");
    }
  };

const invalid = ([first]: readonly Problem[]): Reply => {
  const message =
    first?.type === "own"
      ? first.message
      : first?.type === "missing"
        ? "* GenerateContentRequest.contents: contents is not specified\n"
        : `Invalid value at '${first?.field ?? "contents"}': ${first?.message}`;
  return failed(400, "INVALID_ARGUMENT", message);
};

/** The allowed names of each part of a request. Google refuses every other name. */
const NAMES = {
  request:
    "contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent serviceTier store labels continuationToken",
  content: "role parts",
  part: "text inlineData fileData thought thoughtSignature functionCall functionResponse executableCode codeExecutionResult videoMetadata mediaResolution partMetadata",
  inlineData: "mimeType data displayName",
  fileData: "mimeType fileUri displayName",
  generationConfig:
    "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs enableEnhancedCivicAnswers speechConfig thinkingConfig imageConfig mediaResolution audioTranscriptionConfig",
  imageConfig: "aspectRatio imageSize",
} as const;
const SIZES = ["512", "1K", "2K", "4K"];
const RATIOS = ["1:1", "1:4", "1:8", "2:3", "3:2", "3:4", "4:1", "4:3", "4:5", "5:4", "8:1", "9:16", "16:9", "21:9"];

/** A request has at most 20 MB. */
const MAX_INLINE_MB = 14;
const dataUriOf = ({ mimeType, data }: JsonObject): string => `data:${String(mimeType)};base64,${String(data)}`;

const own = (field: string, message: string): Problem => ({ field, message, type: "own" });
const unknownFields = (value: unknown, kind: keyof typeof NAMES, at: string): Problem[] =>
  Object.keys(isObject(value) ? value : {})
    .filter((name) => !NAMES[kind].split(" ").includes(name))
    .map((name) => own(at, `Invalid JSON payload received. Unknown name "${name}"${at && ` at '${at}'`}: Cannot find field.`));
const membersOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
const partsOf = (content: unknown): unknown[] => {
  const { parts } = membersOf(content);
  return Array.isArray(parts) ? parts : [];
};

const problemsOf =
  (model: string) =>
  (body: JsonObject): Problem[] => {
    const config = membersOf(body.generationConfig);
    const { aspectRatio, imageSize } = membersOf(config.imageConfig);
    const contents = Array.isArray(body.contents) ? body.contents : [];
    const inside = contents.flatMap((content, n) => [
      ...unknownFields(content, "content", `contents[${n}]`),
      ...partsOf(content).flatMap((part, m) => {
        const at = `contents[${n}].parts[${m}]`;
        const { inlineData, fileData } = membersOf(part);
        return [
          ...unknownFields(part, "part", at),
          ...unknownFields(inlineData, "inlineData", `${at}.inline_data`),
          ...unknownFields(fileData, "fileData", `${at}.file_data`),
          ...(isObject(inlineData) && linkOrDataUri(dataUriOf(inlineData), ["image"], MAX_INLINE_MB) === null
            ? [own(`${at}.inline_data`, `Invalid value at '${at}.inline_data.data' (TYPE_BYTES), Base64 decoding failed`)]
            : []),
          ...(isObject(fileData) && typeof fileData.mimeType !== "string"
            ? [own(`${at}.file_data`, `* GenerateContentRequest.${at}.file_data.mime_type: Must be set\n`)]
            : []),
        ];
      }),
    ]);
    return [
      ...unknownFields(body, "request", ""),
      ...inside,
      ...unknownFields(config, "generationConfig", "generation_config"),
      ...unknownFields(config.imageConfig, "imageConfig", "generation_config.image_config"),
      ...(/omni/.test(model) ? [own("model", "This model only supports Interactions API.")] : []),
      ...(aspectRatio !== undefined && !RATIOS.includes(String(aspectRatio))
        ? [
            own(
              "aspectRatio",
              `* GenerateContentRequest.generation_config.image_config.aspect_ratio: aspect_ratio must be one of ${RATIOS.join(", ")}\n`,
            ),
          ]
        : []),
      // With a capital K; a lower-case k is refused.
      ...(imageSize !== undefined && !SIZES.includes(String(imageSize))
        ? [
            own(
              "imageSize",
              `* GenerateContentRequest.generation_config.image_config.image_size: image_size must be one of ${SIZES.join(", ")}\n`,
            ),
          ]
        : []),
    ];
  };

/** A request's body in the common field names. */
const inputOf = ({ contents, generationConfig }: JsonObject): JsonObject | undefined => {
  if (!Array.isArray(contents)) return undefined;
  const texts: unknown[] = [];
  const pictures: string[] = [];
  for (const part of contents.flatMap(partsOf)) {
    const { text, inlineData, fileData } = membersOf(part);
    if (text !== undefined) texts.push(text);
    if (isObject(inlineData)) pictures.push(dataUriOf(inlineData));
    if (isObject(fileData)) pictures.push(String(fileData.fileUri));
  }
  const { imageConfig, seed } = membersOf(generationConfig);
  const { aspectRatio, imageSize = "1K" } = membersOf(imageConfig);
  return {
    ...(texts.length === 0 ? {} : { prompt: texts.join("\n") }),
    ...(pictures.length === 0 ? {} : { image_urls: pictures }),
    ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
    ...(seed === undefined ? {} : { seed }),
    resolution: imageSize,
  };
};

const resultOf = async (bench: Bench, job: Job): Promise<Reply> => {
  const { run } = job.faults;
  const usage = { promptTokenCount: 9, totalTokenCount: 9 };
  const about = { modelVersion: job.endpoint, responseId: job.id };
  if (isFault(run, "refuse"))
    return json(200, { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: usage, ...about });
  if (isFault(run, "withheld")) {
    const candidates = [
      { content: { parts: [{ text: "I drew it.", thought: true }], role: "model" }, finishReason: "IMAGE_OTHER", index: 0 },
    ];
    return json(200, { candidates, usageMetadata: { ...usage, candidatesTokenCount: 1290, totalTokenCount: 1299 }, ...about });
  }
  if (isFault(run, "refuse-output")) {
    const finishMessage = "Unable to show the generated image. It was filtered out because it violated the use policy.";
    const candidates = [{ content: {}, finishReason: "IMAGE_SAFETY", finishMessage, index: 0 }];
    return json(200, { candidates, usageMetadata: usage, ...about });
  }
  if (isFault(run, "input-unreachable")) return failed(400, "INVALID_ARGUMENT", "Cannot fetch content from the provided URL.");
  if (isFault(run, "fail", "fail-later", "aborted"))
    return failed(500, "INTERNAL", "An internal error has occurred. Please retry or report it.");
  const files = await bench.results.hand(job);
  const pictures = files.map(({ bytes, mime }) => ({
    inlineData: { mimeType: mime, data: Buffer.from(bytes).toString("base64") },
  }));
  // These models first return thoughts as text and drafts, and add a text. Neither is part of the result.
  const thoughts = [{ text: "A draft first.", thought: true }, ...pictures.map((draft) => ({ ...draft, thought: true }))];
  const parts = [...thoughts, { text: "Here is the picture you asked for." }, ...pictures];
  return json(200, {
    candidates: [{ content: { parts, role: "model" }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1290, totalTokenCount: 1299 },
    ...about,
  });
};

/** Handles a request below the base path, which ends in `/v1beta`. */
export const handleGemini: DialectHandler = async (bench, request, path): Promise<Answer> => {
  const [, model] = GENERATE.exec(path) ?? [];
  if (model === undefined || request.method !== "POST") return page(404, "Error 404 (Not Found)!!1");
  const key = googleKeyOf(request);
  const words: DialectResponses = {
    provider: "gemini",
    checksAtOnce: true,
    newId: () => randomBytes(16).toString("base64url"),
    inputOf,
    complaints: problemsOf(model),
    accepted: async (job) => whenDone(job, await resultOf(bench, job)),
    withoutId: () => json(200, { usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 }, modelVersion: model }),
    refused: refusedFor(model, key !== undefined),
    invalid,
  };
  return takeIn(bench, words, request, model, key);
};
