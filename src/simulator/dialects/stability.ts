// Simulates Stability's image generation as documented.
//
// The request is a form; the response is the image, as bytes or as base64.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, type Problem, takeIn, whenDone } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, numberOf } from "../faults.ts";
import { type Answer, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import type { Job } from "../jobs.ts";
import { formObject } from "../multipart.ts";

const GENERATE = /^\/v2beta\/stable-image\/generate\/(core|sd3|ultra)$/;
const RATIOS = ["16:9", "1:1", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"];
const MODELS = ["sd3.5-large", "sd3.5-large-turbo", "sd3.5-medium", "sd3.5-flash"];
const MAX_TEXT = 10_000;
const LARGEST_SEED = 4_294_967_294;

const idOf = () => randomBytes(16).toString("hex");

const failed = (status: number, name: string, ...errors: string[]): Reply => {
  const id = idOf();
  return json(status, { errors, id, name }, { "x-request-id": id });
};

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "unauthorized", "authorization: invalid or missing API key");
    case "402":
      return failed(402, "payment_required", "You lack sufficient credits to make this request.");
    case "403":
      return failed(403, "forbidden", "You do not have permission to use this service.");
    case "404":
      return failed(404, "not_found", "The requested resource was not found.");
    case "429":
      return failed(429, "rate_limit_exceeded", "You have exceeded the rate limit of 150 requests within a 10 second period.");
    default:
      return page(numberOf(fault, "status"), "Error");
  }
};

/** All validation errors are reported, each with the name of its field. */
const invalid = (problems: readonly Problem[]): Reply =>
  failed(
    400,
    "bad_request",
    ...problems.map(({ field, message, type }) => {
      if (type === "json_invalid") return "content-type: must be multipart/form-data";
      return type === "missing" ? `${field}: is required` : `${field}: ${message}`;
    }),
  );

/** An image is a file of the form, with a strength; `sd3` also requires a mode, and `core` takes none. */
const imageProblems = (endpoint: string, { image, strength, mode, aspect_ratio }: JsonObject): Problem[] => {
  const wrong = (field: string, message: string): Problem[] => [{ field, message, type: "value_error" }];
  const isEdit = mode === "image-to-image";
  if (image === undefined) return endpoint === "sd3" && isEdit ? wrong("image", "is required with image-to-image") : [];
  if (endpoint === "core") return wrong("image", "is not taken");
  if (!/^data:image\/(png|jpeg|webp);base64,/.test(String(image))) return wrong("image", "must be a PNG, JPEG or WebP file");
  if (!(Number(strength) >= 0 && Number(strength) <= 1)) return wrong("strength", "must be from 0 to 1");
  if (endpoint !== "sd3") return [];
  if (!isEdit) return wrong("mode", "must be image-to-image with an image");
  return aspect_ratio === undefined ? [] : wrong("aspect_ratio", "is not taken with image-to-image");
};

/** A form contains only strings, so numbers and enumerations are validated here. */
const problemsOf =
  (endpoint: string) =>
  (form: JsonObject): Problem[] => {
    const formats = endpoint === "sd3" ? ["jpeg", "png"] : ["jpeg", "png", "webp"];
    const oneOf = (field: string, words: readonly string[]): Problem[] =>
      form[field] === undefined || words.includes(String(form[field]))
        ? []
        : [{ field, message: `must be one of ${words.join(", ")}`, type: "value_error" }];
    const notText = (field: string): Problem[] => {
      const length = form[field] === undefined ? 1 : String(form[field]).length;
      const isWrong = length > MAX_TEXT || (field === "prompt" && length === 0);
      return isWrong ? [{ field, message: `must have 1 to ${MAX_TEXT} characters`, type: "value_error" }] : [];
    };
    const seed = Number(form.seed ?? 0);
    const isSeed = Number.isInteger(seed) && seed >= 0 && seed <= LARGEST_SEED;
    return [
      ...notText("prompt"),
      ...notText("negative_prompt"),
      ...oneOf("aspect_ratio", RATIOS),
      ...oneOf("output_format", formats),
      ...imageProblems(endpoint, form),
      ...(endpoint === "sd3" ? oneOf("model", MODELS) : []),
      ...(isSeed ? [] : [{ field: "seed", message: `must be a whole number from 0 to ${LARGEST_SEED}`, type: "value_error" }]),
    ];
  };

/** A form in the common field names. */
const inputOf = ({
  prompt,
  negative_prompt,
  aspect_ratio = "1:1",
  output_format = "png",
  seed,
  image,
}: JsonObject): JsonObject => ({
  ...(prompt === undefined ? {} : { prompt }),
  ...(negative_prompt === undefined ? {} : { negative_prompt }),
  ...(image === undefined ? {} : { image_url: image }),
  ...(seed === undefined ? {} : { seed: Number(seed) }),
  ...{ aspect_ratio, output_format },
});

/** Whether the client requested JSON. By default the response is the image itself. */
const wantsJson = (request: SimulatorRequest): boolean => /application\/json/.test(request.headers.accept ?? "");

const resultOf = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Reply> => {
  const { run } = job.faults;
  if (isFault(run, "refuse"))
    return failed(
      403,
      "content_moderation",
      "Your request was flagged by our content moderation system, as a result your request was denied.",
    );
  if (isFault(run, "fail", "fail-later", "aborted"))
    return failed(500, "internal_error", "An unexpected server error has occurred, please try again later.");
  const [file] = await bench.results.hand(job);
  const mime = file?.mime ?? "image/png";
  const seed = Number(job.input.seed) || job.plan.seed;
  // A withheld image is still present, blurred, in a normal 200 response.
  const reason = isFault(run, "refuse-output", "withheld") ? "CONTENT_FILTERED" : "SUCCESS";
  if (wantsJson(request)) {
    const image = file ? { image: Buffer.from(file.bytes).toString("base64") } : {};
    const headers = { "content-type": `application/json; type=${mime}`, "x-request-id": job.id };
    return json(200, { ...image, finish_reason: reason, seed }, headers);
  }
  const headers = { "content-type": mime, "x-request-id": job.id, "finish-reason": reason, seed: String(seed) };
  return { kind: "reply", status: 200, headers, body: file?.bytes ?? "" };
};

/** Handles a request below the base path. */
export const handleStability: DialectHandler = async (bench: Bench, request: SimulatorRequest, path: string): Promise<Answer> => {
  const [, endpoint] = GENERATE.exec(path) ?? [];
  if (endpoint === undefined || request.method !== "POST")
    return failed(404, "not_found", "The requested resource was not found.");
  const words: DialectResponses = {
    provider: "stability",
    checksAtOnce: true,
    newId: idOf,
    bodyOf: formObject,
    inputOf,
    complaints: problemsOf(endpoint),
    accepted: async (job) => whenDone(job, await resultOf(bench, job, request)),
    withoutId: () => json(200, {}),
    refused,
    invalid,
  };
  return takeIn(bench, words, request, endpoint, credentialOf(request, "Bearer"));
};
