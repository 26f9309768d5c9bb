// Results and errors of finished requests in fal's documented formats.
import type { Json, JsonObject } from "../domain/types.ts";
import type { Bench, Problem } from "./accept-job.ts";
import { type Fault, isFault, numberOf } from "./faults.ts";
import { json, page, type Reply } from "./http-server.ts";
import type { Announced } from "./job-results.ts";
import type { Job } from "./jobs.ts";

const docs = (type: string) => `https://docs.fal.ai/errors/#${type}`;

/** A model error: a list of faults with their locations. */
const modelError = (status: number, type: string, msg: string, input: JsonObject, loc: Json[] = ["body"]): Reply =>
  json(
    status,
    { detail: [{ loc, msg, type, url: docs(type), input }] },
    { "x-fal-error-type": type, "x-fal-retryable": String(status >= 500) },
  );
/** A request error: one sentence and its type. */
export const requestError = (status: number, type: string, detail: string, headers: Record<string, string> = {}): Reply =>
  json(status, { detail, error_type: type }, { "x-fal-error-type": type, "x-fal-retryable": String(status >= 500), ...headers });

export const invalid = (problems: readonly Problem[], input: JsonObject): Reply =>
  json(
    422,
    {
      detail: problems.map(({ field, message, type }) => ({
        loc: field === null ? ["body"] : ["body", field],
        msg: message,
        type,
        url: docs(type),
        input: field === null ? input : (input[field] ?? input),
      })),
    },
    { "x-fal-error-type": problems[0]?.type ?? "value_error", "x-fal-retryable": "false" },
  );

export const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return requestError(401, "unauthorized", "Authentication is required to access this application.");
    case "402":
      return requestError(
        402,
        "insufficient_balance",
        "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.",
      );
    case "403":
      return requestError(403, "forbidden", "Access to this application is denied.");
    case "404":
      return requestError(404, "not_found", "Application not found");
    case "429":
      return requestError(429, "rate_limited", "Too many requests", { "retry-after": String(numberOf(fault, "retry_after_s")) });
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

/** The result body of a finished job, in the format of its kind. */
const resultBody = (job: Job, endpoint: string, files: Announced[], kind: string): JsonObject => {
  const file = ({ url, mime, name, bytes }: Announced) => ({ url, content_type: mime, file_name: name, file_size: bytes });
  const [one] = files;
  if (kind === "video") return { video: one ? file(one) : null, seed: job.plan.seed };
  if (kind === "audio") return { audio: one ? file(one) : null };
  const pictures = files.map((f) => ({ ...file(f), width: f.width, height: f.height }));
  if (/upscal|esrgan/i.test(endpoint)) return { image: pictures[0] ?? null };
  return { images: pictures, seed: job.plan.seed, has_nsfw_concepts: pictures.map(() => false), prompt: job.input.prompt ?? "" };
};

/** The error of a finished job; undefined if it delivers a result. */
export const falFailure = (bench: Bench, job: Job): Reply | undefined => {
  if (bench.jobs.state(job) === "cancelled") return requestError(499, "client_cancelled", "Request was cancelled");
  const { run } = job.faults;
  const { input } = job;
  if (isFault(run, "refuse")) {
    const msg = "The content could not be processed because it contained material flagged by a content checker.";
    return modelError(422, "content_policy_violation", msg, input, ["body", "prompt"]);
  }
  if (isFault(run, "refuse-output"))
    return modelError(422, "no_media_generated", "The model did not generate the expected media.", input);
  if (isFault(run, "input-unreachable")) {
    const field = Object.keys(input).find((name) => /_urls?$/.test(name)) ?? "image_url";
    return modelError(422, "file_download_error", "Failed to download the file.", input, ["body", field]);
  }
  if (isFault(run, "no-path")) return json(404, { detail: `Path /${job.endpoint.split("/").slice(2).join("/")} not found` });
  if (isFault(run, "invalid")) return invalid((run.problems ?? []) as Problem[], input);
  if (isFault(run, "fail")) return modelError(500, "internal_server_error", "Internal server error", input);
  if (isFault(run, "fail-later")) return modelError(504, "generation_timeout", "Generation timed out", input);
  if (isFault(run, "aborted")) return requestError(503, "runner_disconnected", "Runner disconnected");
  return undefined;
};

/** Status code and body of the result of a finished job. */
export const falResult = async (bench: Bench, job: Job, origin: string): Promise<Reply> => {
  const failure = falFailure(bench, job);
  if (failure) return failure;
  const files = await bench.results.announce(job, origin);
  const { kind } = await bench.results.parsedRequestOf(job);
  const body = resultBody(job, job.endpoint, files, kind);
  // A blank replaces a withheld image, and only the flag reports it.
  const flags = isFault(job.faults.run, "withheld") ? { has_nsfw_concepts: files.map(() => true) } : {};
  return json(200, { ...body, ...flags }, { "x-fal-request-id": job.id });
};
