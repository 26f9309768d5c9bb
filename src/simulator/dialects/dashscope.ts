// Simulates DashScope (Alibaba Model Studio) as documented.
//
// Submissions must request an asynchronous task. Tasks can be polled, listed and, while they wait, cancelled.
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import {
  type Bench,
  cancelJob,
  credentialOf,
  type DialectResponses,
  listTroubleOf,
  noteOnce,
  type Problem,
  takeIn,
  troubleOf,
} from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, bodyObject, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrDataUri } from "../inline-media.ts";
import { endsAtMs, type Job } from "../jobs.ts";

const TASKS = "/api/v1/tasks";
/** How long tasks can be polled and listed. */
const KEPT_MS = 86_400_000;
/** The paths below `/services/aigc/`, and the kind of their results. */
const SERVICES: Readonly<Record<string, "clip" | "picture">> = {
  "video-generation/video-synthesis": "clip",
  "image2video/video-synthesis": "clip",
  "text2image/image-synthesis": "picture",
  "image2image/image-synthesis": "picture",
};

const failed = (status: number, code: string, message: string): Reply =>
  json(status, { code, message, request_id: randomUUID() });

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "InvalidApiKey", "Invalid API-key provided.");
    case "402":
      return failed(400, "Arrearage", "Access denied, please make sure your account is in good standing.");
    case "403": {
      const message = "Access to model denied. Please make sure you are eligible for using the model.";
      return failed(403, "AccessDenied.Unpurchased", message);
    }
    case "404":
      return failed(404, "ModelNotFound", "Model can not be found.");
    case "429":
      return failed(429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later.");
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = ([first]: readonly Problem[]): Reply => {
  if (first?.field == null) return failed(400, "BadRequest.EmptyInput", "Required input parameter missing from request.");
  const missing = "Required parameter(s) missing or invalid, please check the request parameters.";
  return failed(400, "InvalidParameter", first.type === "missing" ? missing : `${first.field}: ${first.message}`);
};

/** The common field of an entry of `input.media`. */
const MEDIA: Readonly<Record<string, string>> = {
  first_frame: "image_url",
  last_frame: "end_image_url",
  first_clip: "video_url",
  video: "video_url",
  driving_audio: "audio_url",
  reference_image: "image_urls",
  reference_video: "video_urls",
};

/**
 * Older models take pixels (`1280*720`), newer ones a height (`720P`, in capitals) and a ratio; null stands for an invalid value.
 */
const sizeOf = (size: unknown, resolution: unknown, ratio: unknown): JsonObject => {
  if (size !== undefined) {
    const [, width = "", height = ""] = /^(\d{2,5})\*(\d{2,5})$/.exec(String(size)) ?? [];
    if (width === "") return { resolution: null };
    return { aspect_ratio: `${width}:${height}`, resolution: `${Math.min(Number(width), Number(height))}p` };
  }
  return {
    ...(resolution === undefined ? {} : { resolution: /^\d+P$/.test(String(resolution)) ? String(resolution) : null }),
    ...(ratio === undefined ? {} : { aspect_ratio: typeof ratio === "string" ? ratio : null }),
  };
};

/** Only pictures can be data URIs. */
const MAX_PICTURE_MB = 10;

/** A task's body in the common field names. */
const inputFor = (makes: "clip" | "picture") => (body: JsonObject) => {
  const { input: given, parameters = {} } = body;
  if (!isObject(given) || !isObject(parameters)) return undefined;
  const { prompt, negative_prompt, img_url, audio_url, media = [] } = given;
  const { size, resolution, ratio, duration, seed, n, audio } = parameters;
  if (!Array.isArray(media)) return undefined;
  const input: JsonObject = {};
  for (const part of media) {
    const field = isObject(part) && typeof part.type === "string" ? MEDIA[part.type] : undefined;
    if (!isObject(part) || field === undefined) return undefined;
    const url = linkOrDataUri(part.url, field.startsWith("image") || field === "end_image_url" ? ["image"] : [], MAX_PICTURE_MB);
    input[field] = field.endsWith("_urls") ? [...(Array.isArray(input[field]) ? input[field] : []), url] : url;
  }
  const declared = { prompt, negative_prompt, image_url: img_url, audio_url, seed };
  for (const [name, value] of Object.entries(declared)) if (value !== undefined) input[name] = value;
  if (makes === "picture")
    return { ...input, ...(n === undefined ? {} : { num_images: n }), ...(size === undefined ? {} : { size }) };
  const isLength = duration === undefined || Number.isInteger(duration);
  return {
    ...{ ...input, ...sizeOf(size, resolution, ratio), generate_audio: audio ?? true },
    ...(duration === undefined ? {} : { duration: isLength ? duration : null }),
  };
};

const wordsFor = (makes: "clip" | "picture"): DialectResponses => ({
  provider: "dashscope",
  checksAtOnce: true,
  newId: () => randomUUID(),
  inputOf: inputFor(makes),
  accepted: (job) => json(200, { output: { task_status: "PENDING", task_id: job.id }, request_id: randomUUID() }),
  withoutId: () => json(200, { output: { task_status: "PENDING" }, request_id: randomUUID() }),
  refused,
  invalid,
});

/** The error of a finished task. For moderation, only the text states whether input or output was refused. */
const errorOf = ({ faults: { run } }: Job): JsonObject | undefined => {
  if (isFault(run, "refuse")) return { code: "DataInspectionFailed", message: "Input data may contain inappropriate content." };
  if (isFault(run, "refuse-output", "withheld"))
    return { code: "DataInspectionFailed", message: "Output data may contain inappropriate content." };
  if (isFault(run, "input-unreachable"))
    return {
      code: "InvalidParameter.DataInspection",
      message: "Unable to download the media resource during the data inspection process.",
    };
  if (isFault(run, "fail", "fail-later"))
    return {
      code: "InternalError",
      message: "An internal error has occured, please try again later or contact service support.",
    };
  return undefined;
};

const statusOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  if (state !== "done") return { queued: "PENDING", running: "RUNNING", cancelled: "CANCELED" }[state];
  if (isFault(job.faults.run, "aborted")) return "CANCELED";
  return errorOf(job) ? "FAILED" : "SUCCEEDED";
};

const timeOf = (ms: number) => new Date(ms).toISOString().replace("T", " ").slice(0, 23);
const unknownTask = (id: string) => json(200, { request_id: randomUUID(), output: { task_id: id, task_status: "UNKNOWN" } });

const taskOf = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const status = says ?? statusOf(bench, job);
  const files = status === "SUCCEEDED" ? await bench.results.announce(job, origin) : [];
  const { kind } = await bench.results.parsedRequestOf(job);
  const result = (): JsonObject => {
    if (kind === "image")
      return { results: files.map(({ url }) => ({ url })), task_metrics: { TOTAL: 1, SUCCEEDED: 1, FAILED: 0 } };
    return files[0] ? { orig_prompt: job.input.prompt ?? "", video_url: files[0].url } : {};
  };
  const { duration = 5, aspect_ratio: ratio = "16:9" } = job.input;
  return {
    request_id: randomUUID(),
    output: {
      ...{ task_id: job.id, task_status: status, submit_time: timeOf(job.acceptedAtMs) },
      ...(status === "PENDING" ? {} : { scheduled_time: timeOf(job.acceptedAtMs + job.plan.queuedMs) }),
      ...(["SUCCEEDED", "FAILED"].includes(status) ? { end_time: timeOf(Math.min(endsAtMs(job), bench.clock.nowMs())) } : {}),
      ...(status === "SUCCEEDED" ? result() : {}),
      ...(status === "FAILED" ? errorOf(job) : {}),
    },
    ...(status === "SUCCEEDED" ? { usage: { duration, output_video_duration: duration, video_count: 1, SR: 720, ratio } } : {}),
  };
};

const answerPoll = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const isDone = ["SUCCEEDED", "FAILED", "CANCELED"].includes(statusOf(bench, job));
  const trouble = troubleOf(job, isDone);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return unknownTask(job.id);
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && isDone && job.polls <= numberOf(poll, "polls"))
    return failed(500, "InternalError", "An internal error has occured, please try again later or contact service support.");
  const says = { unknown: "PRE_PROCESSING", "says-done": "SUCCEEDED", "says-running": "RUNNING" };
  const status = trouble && says[trouble];
  if ((status ?? statusOf(bench, job)) === "SUCCEEDED") await noteOnce(bench, job, "announced");
  return json(200, await taskOf(bench, job, request.origin, status));
};

/** Tasks of the last day, without their inputs; the bounds `start_time` and `end_time` are ignored. */
const list = (bench: Bench, request: SimulatorRequest): Answer => {
  const trouble = listTroubleOf(bench, "dashscope");
  if (trouble) return trouble;
  const [model, status] = [request.query.get("model_name"), request.query.get("status")];
  const [pageNo, pageSize] = [Number(request.query.get("page_no") ?? 1), Number(request.query.get("page_size") ?? 10)];
  const sinceMs = bench.clock.nowMs() - KEPT_MS;
  const found = bench.jobs
    .of("dashscope")
    .filter((job) => job.acceptedAtMs >= sinceMs && (model === null || job.endpoint === model))
    .toReversed()
    .map((job) => ({
      ...{ api_key_id: "1", caller_parent_id: "2", caller_uid: "2", region: "ap-southeast-1", request_id: randomUUID() },
      ...{ task_id: job.id, model_name: job.endpoint, status: statusOf(bench, job) },
      ...{ gmt_create: job.acceptedAtMs, start_time: job.acceptedAtMs + job.plan.queuedMs },
      user_api_unique_key: `apikey:v1:aigc:video-generation:video-synthesis:${job.endpoint}`,
    }))
    .filter((task) => status === null || task.status === status);
  const shown = found.slice((pageNo - 1) * pageSize, pageNo * pageSize);
  const total = found.length;
  const pages = { total, total_page: Math.ceil(total / pageSize), page_no: pageNo, page_size: pageSize };
  return json(200, { request_id: randomUUID(), data: shown, ...pages });
};

const submit = (bench: Bench, request: SimulatorRequest, service: string, credential: string | undefined): Promise<Answer> => {
  const model = bodyObject(request)?.model;
  const endpoint = typeof model === "string" ? model : "";
  const makes = SERVICES[service];
  const turnDown = (reply: Reply) =>
    takeIn(bench, { ...wordsFor("clip"), inputOf: () => undefined, invalid: () => reply }, request, endpoint, credential);
  if (makes === undefined) return turnDown(failed(400, "InvalidParameter", "url error, please check url！"));
  if (request.headers["x-dashscope-async"] !== "enable")
    return turnDown(failed(403, "AccessDenied", "current user api does not support synchronous calls."));
  if (endpoint === "") return turnDown(failed(400, "BadRequest.EmptyModel", 'Required parameter "model" missing from request.'));
  return takeIn(bench, wordsFor(makes), request, endpoint, credential);
};

/** Handles a request below DashScope's base path. */
export const handleDashscope: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  const [, service] = /^\/api\/v1\/services\/aigc\/([\w-]+\/[\w-]+)$/.exec(path) ?? [];
  if (service !== undefined && request.method === "POST") return submit(bench, request, service, credential);
  if (credential === undefined) return refused(makeFault("401"));
  if (path === TASKS && request.method === "GET") return list(bench, request);
  const [, id = "", verb] = /^\/api\/v1\/tasks\/([\w-]+)(\/cancel)?$/.exec(path) ?? [];
  const job = bench.jobs.find("dashscope", id);
  const isKept = job !== undefined && job.acceptedAtMs + KEPT_MS >= bench.clock.nowMs();
  if (verb === undefined && request.method === "GET") return isKept ? answerPoll(bench, job, request) : unknownTask(id);
  if (verb === undefined || request.method !== "POST") return page(405, "Method Not Allowed");
  if (!isKept || bench.jobs.state(job) !== "queued") {
    const message = "Failed to cancel the task, please confirm if the task is in PENDING status.";
    return failed(400, "UnsupportedOperation", message);
  }
  await cancelJob(bench, job);
  return json(200, { request_id: randomUUID() });
};
