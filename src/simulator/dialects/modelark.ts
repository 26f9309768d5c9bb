// Simulates ModelArk's video tasks of BytePlus and Volcengine as documented.
//
// Tasks are created, polled, listed and deleted.
import { randomBytes } from "node:crypto";
import type { Json, JsonObject } from "../../domain/types.ts";
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

const TASKS = "/contents/generations/tasks";
/** How long tasks can be polled and listed. */
const KEPT_MS = 7 * 86_400_000;

const failed = (
  status: number,
  code: string,
  message: string,
  type = "BadRequest",
  headers: Record<string, string> = {},
): Reply => json(status, { error: { code, message, param: "", type } }, headers);
const notFound = (id: string) => failed(404, "ResourceNotFound", `The specified task ${id} is not found.`, "NotFound");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "AuthenticationError", "The API key in the request is missing or invalid.", "Unauthorized");
    case "402":
      return failed(403, "AccountOverdueError", "The account has an overdue balance.", "Forbidden");
    case "403":
      return failed(403, "AccessDenied", "The request failed because access to the resource is denied.", "Forbidden");
    case "404":
      return failed(404, "InvalidEndpointOrModel.NotFound", "The model or endpoint does not exist.", "NotFound");
    case "429": {
      const seconds = String(numberOf(fault, "retry_after_s"));
      const message = "The requests per minute limit of the model is exceeded.";
      return failed(429, "RateLimitExceeded.EndpointRPMExceeded", message, "TooManyRequests", { "retry-after": seconds });
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = (problems: readonly Problem[]): Reply => {
  const [first] = problems;
  const name = first?.field ?? "content";
  return first?.type === "missing"
    ? failed(400, "MissingParameter", `The request failed because it is missing the ${name} parameter.`)
    : failed(400, "InvalidParameter", `The parameter ${name} specified in the request is not valid: ${first?.message}.`);
};

/** The common field of a part of `content`. */
const FIELDS: Readonly<Record<string, string>> = {
  first_frame: "image_url",
  last_frame: "end_image_url",
  reference_image: "image_urls",
  reference_video: "video_urls",
  reference_audio: "audio_urls",
};
/** Megabytes before the encoding of an inline file; a video has to be a link. */
const INLINE_MB: Readonly<Record<string, ["image" | "audio", number]>> = { image_url: ["image", 30], audio_url: ["audio", 15] };
const urlOf = ({ type }: JsonObject, url: Json | undefined): Json => {
  const [kind, mostMb] = INLINE_MB[String(type)] ?? [];
  return linkOrDataUri(url, kind === undefined ? [] : [kind], mostMb ?? 0);
};
/** A task's body in the common field names, which determine the result and the validation errors. */
const inputOf = (body: JsonObject): JsonObject | undefined => {
  const { content, resolution, ratio, duration, generate_audio, seed } = body;
  if (!Array.isArray(content)) return undefined;
  const input: JsonObject = {};
  for (const part of content) {
    if (!isObject(part)) return undefined;
    const { type, text, role } = part;
    if (type === "text" && text !== undefined) input.prompt = text;
    const link = typeof type === "string" ? part[type] : undefined;
    const field = FIELDS[typeof role === "string" ? role : "first_frame"];
    if (!isObject(link) || field === undefined) continue;
    const url = urlOf(part, link.url);
    if (!field.endsWith("_urls")) input[field] = url;
    else input[field] = [...(Array.isArray(input[field]) ? input[field] : []), url];
  }
  const declared = { resolution, ratio, duration, seed, generate_audio: generate_audio ?? true };
  for (const [name, value] of Object.entries(declared)) if (value !== undefined && value !== -1) input[name] = value;
  return input;
};

const markOf = (body: JsonObject): unknown => body.safety_identifier;

/**
 * Five digits distinguish the ids of one second. They increase from a random start, because random digits collided within a
 * minute.
 */
const DIGITS = 16 ** 5;
let lastId = randomBytes(4).readUInt32BE() % DIGITS;
const newId = (): string => {
  lastId = (lastId + 1) % DIGITS;
  return `cgt-${new Date().toISOString().replace(/\D/g, "").slice(0, 14)}-${lastId.toString(16).padStart(5, "0")}`;
};

const words: DialectResponses = {
  provider: "modelark",
  checksAtOnce: true,
  newId,
  inputOf,
  markOf,
  accepted: (job) => json(200, { id: job.id, ...(job.ref === null ? {} : { safety_identifier: job.ref }) }),
  withoutId: () => json(200, {}),
  refused,
  invalid,
};

/** The error of a finished task. */
const errorOf = ({ faults: { run } }: Job): JsonObject | undefined => {
  if (isFault(run, "refuse"))
    return {
      code: "InputTextSensitiveContentDetected",
      message: "The request failed because the input text may contain sensitive information.",
    };
  if (isFault(run, "refuse-output", "withheld"))
    return {
      code: "OutputVideoSensitiveContentDetected",
      message: "The request failed because the output video may contain sensitive information.",
    };
  if (isFault(run, "input-unreachable"))
    return {
      code: "InvalidParameter",
      message: "The parameter content specified in the request is not valid: failed to download the resource.",
    };
  if (isFault(run, "fail", "fail-later"))
    return { code: "InternalServiceError", message: "The service encountered an unexpected internal error." };
  return undefined;
};

const taskOf = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const state = bench.jobs.state(job);
  const endMs = endsAtMs(job);
  const error = errorOf(job);
  const really = () => {
    if (state !== "done") return state;
    if (isFault(job.faults.run, "aborted")) return "expired";
    return error ? "failed" : "succeeded";
  };
  const status = says ?? really();
  const seconds = (ms: number) => Math.floor(ms / 1000);
  const [file] = status === "succeeded" ? await bench.results.announce(job, origin) : [];
  const { resolution = "720p", ratio = "16:9", duration = 5, generate_audio = true } = job.input;
  return {
    ...{ id: job.id, model: job.endpoint, status, created_at: seconds(job.acceptedAtMs) },
    updated_at: seconds(Math.min(bench.clock.nowMs(), endMs)),
    ...(job.ref === null ? {} : { safety_identifier: job.ref }),
    ...(status === "failed" && error ? { error } : {}),
    ...(status === "succeeded"
      ? {
          content: file ? { video_url: file.url } : {},
          usage: { completion_tokens: 108_900, total_tokens: 108_900 },
          ...{ seed: job.plan.seed, resolution, ratio, duration, generate_audio },
          ...{ framespersecond: 24, service_tier: "default", execution_expires_after: 3600 },
        }
      : {}),
  };
};

const shownJob = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const state = bench.jobs.state(job);
  const trouble = troubleOf(job, state === "done" || state === "cancelled");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound(job.id);
  const says = { unknown: "warming_up", "says-done": "succeeded", "says-running": "running" };
  const task = await taskOf(bench, job, request.origin, trouble && says[trouble]);
  if (task.status === "succeeded") await noteOnce(bench, job, "announced");
  return json(200, task);
};

const list = async (bench: Bench, request: SimulatorRequest, provider: string): Promise<Answer> => {
  const trouble = listTroubleOf(bench, provider);
  if (trouble) return trouble;
  const number = (name: string, otherwise: number) => Number(request.query.get(name) ?? otherwise);
  const [model, status] = [request.query.get("filter.model"), request.query.get("filter.status")];
  const [page_num, page_size] = [number("page_num", 1), number("page_size", 10)];
  const sinceMs = bench.clock.nowMs() - KEPT_MS;
  const jobs = bench.jobs.of(provider).filter((job) => job.acceptedAtMs >= sinceMs && (model === null || job.endpoint === model));
  const tasks = await Promise.all(jobs.toReversed().map((job) => taskOf(bench, job, request.origin)));
  const fitting = tasks.filter((task) => status === null || task.status === status);
  return json(200, { total: fitting.length, items: fitting.slice((page_num - 1) * page_size, page_num * page_size) });
};

/** Handles a request below the base path of one of the two providers. */
export const handleModelArk =
  (provider: string): DialectHandler =>
  async (bench, request, path) => {
    const credential = credentialOf(request, "Bearer");
    if (path === TASKS && request.method === "POST") {
      const model = bodyObject(request)?.model;
      return takeIn(bench, { ...words, provider }, request, typeof model === "string" ? model : "", credential);
    }
    if (credential === undefined) return refused(makeFault("401"));
    if (path === TASKS && request.method === "GET") return list(bench, request, provider);
    const [, id = ""] = /^\/contents\/generations\/tasks\/([\w-]+)$/.exec(path) ?? [];
    const job = bench.jobs.find(provider, id);
    if (!job || job.acceptedAtMs + KEPT_MS < bench.clock.nowMs()) return notFound(id);
    if (request.method === "GET") return shownJob(bench, job, request);
    if (request.method !== "DELETE") return failed(405, "MethodNotAllowed", "The method is not allowed.");
    const state = bench.jobs.state(job);
    if (state === "running")
      return failed(409, "InvalidAction.RunningTaskDeletion", "A running task cannot be deleted.", "Conflict");
    if (state === "queued") await cancelJob(bench, job);
    // A finished task is deleted with its result.
    else bench.jobs.forget(job);
    return json(200, {});
  };
