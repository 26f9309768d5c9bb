// Simulates Runware as documented: one endpoint with lists of tasks.
//
// The client chooses the names of its tasks.
import type { Json, JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, noteOnce, type Problem, takeUpload, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrDataUri } from "../inline-media.ts";
import { endsAtMs, type Job } from "../jobs.ts";
import { takeInOnce } from "./repeats.ts";

const PROVIDER = "runware";
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
/** The name of the result of each task type: `videoUUID`, `videoURL`. */
const MEDIA: Readonly<Record<string, string>> = { videoInference: "video", imageInference: "image", audioInference: "audio" };

const error = (code: string, message: string, more: JsonObject = {}): JsonObject => ({ code, message, ...more });
const failed = (status: number, one: JsonObject, headers: Record<string, string> = {}): Reply =>
  json(status, { data: [], errors: [one] }, headers);

/** Errors contain the name of their task. */
type About = { taskType: string; taskUUID: string };

const refused = (fault: Fault, about: About): Reply => {
  switch (fault.name) {
    case "401": {
      const authenticationError = { parameter: "apiKey", taskType: "authentication" };
      return json(401, { errors: [error("invalidApiKey", "Invalid API key. Get one in your dashboard.", authenticationError)] });
    }
    case "402":
      return failed(402, error("insufficientCredits", "Insufficient credits to run this task.", about));
    case "403":
      return failed(403, error("forbidden", "The API key has no permission to run this task.", about));
    case "404":
      return failed(404, error("modelNotFound", "The model was not found.", { parameter: "model", ...about }));
    case "429": {
      const seconds = String(numberOf(fault, "retry_after_s"));
      return failed(429, error("rateLimitExceeded", "The queue is full, try again later.", about), { "retry-after": seconds });
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

/** Runware's names of the common fields. */
const PARAMETERS: Readonly<Record<string, string>> = {
  prompt: "positivePrompt",
  negative_prompt: "negativePrompt",
  num_images: "numberResults",
  image_url: "frameImages",
  end_image_url: "frameImages",
};
const invalid = ([first]: readonly Problem[], about: About): Reply => {
  const parameter = PARAMETERS[first?.field ?? ""] ?? first?.field ?? "task";
  const name = `${parameter.charAt(0).toUpperCase()}${parameter.slice(1)}`;
  const code = first?.type === "missing" ? `missing${name}` : `invalid${name}`;
  return failed(400, error(code, `Invalid value for '${parameter}' parameter. ${first?.message}`, { parameter, ...about }));
};

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
/** A media link: plain, or inside an object. */
const linkOf = (item: unknown): unknown => (isObject(item) ? (item.inputImage ?? item.image ?? null) : item);
const MAX_PICTURE_MB = 20;
/** A medium is a link, a data URI, or the UUID of an upload, which becomes its link; null for any other value. */
const mediumOf =
  (bench: Bench, origin: string) =>
  (item: unknown): Json => {
    const value = linkOf(item) as Json;
    if (typeof value === "string" && UUID_V4.test(value)) return bench.uploads.linkOf(origin, value) ?? null;
    return linkOrDataUri(value, ["image"], MAX_PICTURE_MB);
  };

/** The types of tasks that store a file: the member with its content, and that with its name in the response. */
const UPLOADS: Readonly<Record<string, readonly [content: string, name: string]>> = {
  imageUpload: ["image", "image"],
  mediaStorage: ["media", "media"],
};
/** Stores the file of a task. A link would be downloaded, which is not simulated. */
const storeFile = (bench: Bench, request: SimulatorRequest, task: JsonObject, about: About): Reply => {
  const [content = "", name = ""] = UPLOADS[about.taskType] ?? [];
  const isWrongOperation = about.taskType === "mediaStorage" && task.operation !== "upload";
  if (isWrongOperation)
    return failed(400, error("invalidOperation", "operation must be upload.", { parameter: "operation", ...about }));
  const value = task[content];
  const isData = linkOrDataUri(value, ["image", "video", "audio"], MAX_UPLOAD_MB) !== null && !/^https?:/.test(String(value));
  const stored = isData && typeof value === "string" ? bench.uploads.takeText(request.origin, value) : undefined;
  if (!stored)
    return failed(
      400,
      error(`invalid${content.charAt(0).toUpperCase()}${content.slice(1)}`, "Invalid media.", { parameter: content, ...about }),
    );
  return json(200, { data: [{ ...about, [`${name}UUID`]: stored.id, [`${name}URL`]: stored.url }] });
};
const MAX_UPLOAD_MB = 100;

/** Frames by their position, or in order if none has a position. */
const framesOf = (frames: readonly unknown[], medium: ReturnType<typeof mediumOf>): JsonObject => {
  const input: JsonObject = {};
  for (const [at, item] of frames.entries()) {
    const place = isObject(item) && item.frame !== undefined ? item.frame : at === 0 ? "first" : "last";
    input[place === "last" ? "end_image_url" : "image_url"] = medium(item);
  }
  return input;
};

const inputOf = (task: JsonObject, medium: ReturnType<typeof mediumOf>): JsonObject => {
  const { taskType, positivePrompt, negativePrompt, width, height, duration, seed, numberResults, outputFormat } = task;
  const inputs = isObject(task.inputs) ? task.inputs : {};
  const references = listOf(task.referenceImages ?? inputs.referenceImages).map(medium);
  const isPicture = taskType === "imageInference";
  const isSized = typeof width === "number" && typeof height === "number";
  const shape = isSized ? { resolution: `${Math.min(width, height)}p`, aspect_ratio: `${width}:${height}` } : {};
  const all: Record<string, unknown> = {
    ...{ prompt: positivePrompt, negative_prompt: negativePrompt, seed, num_images: numberResults, output_format: outputFormat },
    ...framesOf(listOf(task.frameImages ?? inputs.frameImages), medium),
    ...(references.length > 0 ? { image_urls: references } : {}),
    ...(references.includes(null) ? { image_url: null } : {}),
    ...(isPicture ? { width, height } : { duration: duration ?? (taskType === "videoInference" ? 5 : undefined), ...shape }),
    task_type: taskType,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JsonObject;
};

const wordsFor = (about: About, medium: ReturnType<typeof mediumOf>): DialectResponses => ({
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => about.taskUUID,
  inputOf: (task) => inputOf(task, medium),
  markOf: (task) => task.taskUUID,
  accepted: () => json(200, { data: [about] }),
  withoutId: () => json(200, { data: [{ taskType: about.taskType }] }),
  refused: (fault) => refused(fault, about),
  invalid: (problems) => invalid(problems, about),
});

/** The error of an accepted task. */
const errorOf = ({ faults: { run } }: Job): { code: string; message: string } | undefined => {
  if (isFault(run, "refuse")) return { code: "contentPolicyViolation", message: "The prompt was refused by the content policy." };
  if (isFault(run, "withheld")) return { code: "nsfwContentDetected", message: "The result was withheld by the safety filter." };
  if (isFault(run, "refuse-output"))
    return { code: "invalidProviderContent", message: "The provider filtered what was generated." };
  if (isFault(run, "input-unreachable")) return { code: "downloadFailed", message: "An input image could not be downloaded." };
  if (isFault(run, "aborted")) return { code: "taskCancelled", message: "The task was cancelled." };
  if (isFault(run, "fail-later")) return { code: "timeoutProvider", message: "The external provider did not respond in time." };
  return isFault(run, "fail", "invalid") ? { code: "inferenceError", message: "The task could not be processed." } : undefined;
};

type TaskResponse = { data: JsonObject[]; errors: JsonObject[]; status: number };

/** The `getResponse` result of one task, or a response with a scripted fault. */
const reported = async (bench: Bench, request: SimulatorRequest, taskUUID: string): Promise<TaskResponse | Answer> => {
  const lost = error("taskFailedOrNotFound", "No such task.", { parameter: "taskUUID", taskType: "getResponse", taskUUID });
  const lostTask: TaskResponse = { data: [], errors: [lost], status: 404 };
  const job = bench.jobs.find(PROVIDER, taskUUID);
  if (!job) return lostTask;
  const state = bench.jobs.state(job);
  const done = state === "done";
  const trouble = troubleOf(job, done);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return lostTask;
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && done && job.polls <= numberOf(poll, "polls")) return page(502, "Bad Gateway");
  const taskType = typeof job.input.task_type === "string" ? job.input.task_type : "videoInference";
  const wrong = done ? errorOf(job) : undefined;
  // Failures are in `errors` of an HTTP 200, not in `data`.
  if (wrong && !trouble) return { data: [], errors: [{ ...wrong, taskType, taskUUID, status: "error" }], status: 200 };
  const says = { unknown: "warmingUp", "says-done": "success", "says-running": "processing" };
  const status = trouble ? says[trouble] : done ? "success" : "processing";
  if (status !== "success") return { data: [{ taskType, taskUUID, status }], errors: [], status: 200 };
  const files = await bench.results.announce(job, request.origin);
  if (files.length > 0) await noteOnce(bench, job, "announced");
  const medium = MEDIA[taskType] ?? "video";
  const made = files.map(({ url }) => ({ [`${medium}UUID`]: crypto.randomUUID(), [`${medium}URL`]: url }));
  const each = { taskType, taskUUID, status, seed: job.plan.seed, cost: 0.14 };
  return { data: (made.length > 0 ? made : [{}]).map((file) => ({ ...each, ...file })), errors: [], status: 200 };
};

const tasksOf = (request: SimulatorRequest): JsonObject[] | undefined => {
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(request.body));
    return Array.isArray(body) && body.length > 0 && body.every(isObject) ? body : undefined;
  } catch {
    return undefined;
  }
};

/** Combines the results of several tasks in one response. */
const respond = async (bench: Bench, request: SimulatorRequest, tasks: readonly JsonObject[]): Promise<Answer> => {
  const all: TaskResponse = { data: [], errors: [], status: 200 };
  for (const { taskUUID } of tasks) {
    const one = await reported(bench, request, typeof taskUUID === "string" ? taskUUID : "");
    if ("kind" in one) return one;
    all.data.push(...one.data);
    all.errors.push(...one.errors);
    if (tasks.length === 1) all.status = one.status;
  }
  return json(all.status, all.errors.length > 0 ? { data: all.data, errors: all.errors } : { data: all.data });
};

/** A credential that was sent on a WebSocket applies to all its messages. */
const keysOfLines = new WeakMap<object, string>();
const keyOf = (request: SimulatorRequest, [first]: readonly JsonObject[]): string | undefined => {
  const declared = first?.taskType === "authentication" && typeof first.apiKey === "string" ? first.apiKey.trim() : "";
  if (declared !== "" && request.line) keysOfLines.set(request.line, declared);
  return credentialOf(request, "Bearer") ?? (declared || (request.line && keysOfLines.get(request.line)));
};

/** Responses to tasks without a job: authentication and ping. */
const greeted = ({ taskType }: JsonObject): JsonObject =>
  taskType === "ping" ? { taskType, pong: true } : { taskType: "authentication", connectionSessionUUID: crypto.randomUUID() };

/** Clips are polled later; all other results are awaited, unless the task requires otherwise. */
const isWaitedFor = ({ taskType, deliveryMethod, webhookURL }: JsonObject): boolean =>
  webhookURL === undefined && (deliveryMethod ?? (taskType === "videoInference" ? "async" : "sync")) === "sync";

/** An acceptance, or the result if the task is awaited. */
const held = async (bench: Bench, request: SimulatorRequest, { taskUUID }: About, taken: Answer): Promise<Answer> => {
  const job = bench.jobs.find(PROVIDER, taskUUID);
  if (!job || taken.kind !== "reply" || taken.status !== 200 || taken.cutAt !== undefined) return taken;
  const endMs = endsAtMs(job);
  if (!Number.isFinite(endMs)) return { kind: "hang" };
  // A timer can fire a fraction of a millisecond early.
  await new Promise<void>((over) => bench.clock.after(endMs - bench.clock.nowMs() + 1, over));
  return respond(bench, request, [{ taskUUID }]);
};

/** Handles a request at `/runware/v1`: authentication, polls, or one new task. */
export const handleRunware: DialectHandler = async (bench, request, path) => {
  if (path !== "/" || request.method !== "POST") return failed(404, error("notFound", "There is nothing here; POST to /v1."));
  const declared = tasksOf(request);
  const credential = keyOf(request, declared ?? []);
  const tasks = declared?.filter(({ taskType }) => taskType !== "authentication");
  const [first] = tasks ?? [];
  const word = (value: unknown) => (typeof value === "string" ? value : "");
  const about = { taskType: word(first?.taskType), taskUUID: word(first?.taskUUID) };
  if (credential === undefined) return refused(makeFault("401"), about);
  if (declared === undefined || tasks === undefined) return failed(400, error("invalidRequest", "The body is a list of tasks."));
  if (first === undefined || tasks.every(({ taskType }) => taskType === "ping"))
    return json(200, { data: (first === undefined ? declared : tasks).map(greeted) });
  if (tasks.every(({ taskType }) => taskType === "getResponse")) return respond(bench, request, tasks);
  if (tasks.length === 1 && UPLOADS[about.taskType] !== undefined && UUID_V4.test(about.taskUUID))
    return takeUpload(
      bench,
      PROVIDER,
      credential,
      () => refused(makeFault("401"), about),
      () => storeFile(bench, request, first, about),
    );
  if (tasks.length > 1 || MEDIA[about.taskType] === undefined)
    return failed(400, error("unsupportedTaskType", "This task is not played here.", { parameter: "taskType", ...about }));
  if (!UUID_V4.test(about.taskUUID))
    return failed(400, error("invalidTaskUUID", "taskUUID must be a UUID v4.", { parameter: "taskUUID", ...about }));
  const alone: SimulatorRequest = { ...request, body: new TextEncoder().encode(JSON.stringify(first)) };
  const clash = failed(400, error("conflictTaskUUID", "The taskUUID was already used.", { parameter: "taskUUID", ...about }));
  const words = wordsFor(about, mediumOf(bench, request.origin));
  const taken = await takeInOnce(bench, words, alone, word(first.model), credential, about.taskUUID, () => clash);
  return isWaitedFor(first) ? held(bench, request, about, taken) : taken;
};
