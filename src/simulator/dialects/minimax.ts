// Simulates MiniMax's second video API as documented: create, query and list.
//
// One request cancels or deletes a task.
import { randomBytes, randomInt } from "node:crypto";
import type { JsonObject, MediaKind } from "../../domain/types.ts";
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

const TASKS = "/v2/video_generation";
const QUERY = "/v2/query/video_generation";
/** How long tasks can be polled and listed. */
const KEPT_MS = 7 * 86_400_000;
const SHORTEST_S = 4;
const MAX_S = 15;
/** The resolutions of the known models. */
const RESOLUTIONS: Readonly<Record<string, readonly string[]>> = {
  "MiniMax-H3": ["768P", "2K"],
  "MiniMax-H3-Max": ["480P", "768P"],
};

/** The number in parentheses is the only difference between errors of one type. */
const failed = (status: number, type: string, message: string, code: number): Reply =>
  json(status, {
    type: "error",
    error: { type, message: `${message} (${code})`, http_code: String(status) },
    request_id: randomBytes(16).toString("hex"),
  });
const notValid = (what: string): Reply => failed(400, "bad_request_error", `invalid params, ${what}`, 2013);
/** Also the response for a task that is too old; there is no 404. */
const unknownTask = () => notValid("invalid task_id");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401": {
      const message = "login fail: Please carry the API secret key in the 'Authorization' field of the request header";
      return failed(401, "authorized_error", message, 1004);
    }
    case "402":
      return failed(402, "insufficient_balance_error", "insufficient balance", 1008);
    case "403":
      return failed(400, "bad_request_error", "your current token plan not support model", 2061);
    case "404":
      return notValid("the model is not supported");
    case "429":
      return failed(429, "rate_limit_error", "rate limit, please retry later", 1002);
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = ([first]: readonly Problem[]): Reply =>
  first?.field === "prompt"
    ? notValid("content must include a non-empty text item (prompt is required)")
    : notValid(`${first?.field ?? "content"}: ${first?.message}`);

/** The common field of a part of `content`; a request cannot contain frames and references. */
const FRAMES: Readonly<Record<string, string>> = { first_frame: "image_url", last_frame: "end_image_url" };
const REFERENCES: Readonly<Record<string, string>> = {
  reference_image: "image_urls",
  reference_video: "video_urls",
  reference_audio: "audio_urls",
};

/** The kind of a data URI in a part of this type. */
const MEDIA: Readonly<Record<string, readonly MediaKind[]>> = {
  image_url: ["image"],
  video_url: ["video"],
  audio_url: ["audio"],
};
const MAX_INLINE_MB = 20;

/** The parts of `content` in the common field names; null stands for a missing required value. */
const contentOf = (content: readonly unknown[]): JsonObject | undefined => {
  const input: JsonObject = { prompt: null };
  for (const part of content) {
    if (!isObject(part) || typeof part.type !== "string") return undefined;
    const { type, text, role = type === "image_url" ? "first_frame" : "" } = part;
    if (type === "text") {
      if (typeof text === "string" && text.trim() !== "") input.prompt = text;
      continue;
    }
    const link = part[type];
    if (!isObject(link) || typeof role !== "string") return undefined;
    const url = linkOrDataUri(link.url, MEDIA[type] ?? [], MAX_INLINE_MB);
    const frame = FRAMES[role];
    const reference = REFERENCES[role];
    if (frame !== undefined) input[frame] = url;
    else if (reference !== undefined) input[reference] = [...(Array.isArray(input[reference]) ? input[reference] : []), url];
    else return undefined;
  }
  return input;
};

/** A task's body in the common field names; null stands for a missing required value. */
const inputOf = (body: JsonObject): JsonObject | undefined => {
  const { content, model, ratio, resolution = null, duration } = body;
  const input = Array.isArray(content) ? contentOf(content) : undefined;
  if (!input) return undefined;
  const hasFrames = Object.values(FRAMES).some((name) => name in input);
  const hasReferences = Object.values(REFERENCES).some((name) => name in input);
  if (hasFrames && hasReferences) input.image_url = null;
  // Frames determine the aspect ratio, regardless of `ratio`; a text alone requires one.
  if (!hasFrames && !hasReferences) input.aspect_ratio = typeof ratio === "string" && ratio !== "adaptive" ? ratio : null;
  if (!hasFrames && hasReferences && ratio !== undefined) input.aspect_ratio = ratio;
  const made = RESOLUTIONS[String(model)];
  const isLength = typeof duration === "number" && Number.isInteger(duration) && duration >= SHORTEST_S && duration <= MAX_S;
  return {
    ...input,
    resolution: made === undefined || made.includes(String(resolution)) ? resolution : null,
    duration: isLength ? duration : null,
    generate_audio: true,
  };
};

const words: DialectResponses = {
  provider: "minimax",
  checksAtOnce: true,
  newId: () => String(randomInt(100_000_000_000_000, 281_474_976_710_655)),
  inputOf,
  accepted: (job) => json(200, { task_id: job.id }),
  withoutId: () => json(200, {}),
  refused,
  invalid,
};

/** The error of a finished task. */
const errorOf = ({ faults: { run } }: Job): JsonObject | undefined => {
  if (isFault(run, "refuse")) return { code: "1026", message: "video description contains sensitive content" };
  if (isFault(run, "refuse-output", "withheld")) return { code: "1027", message: "output new_sensitive" };
  if (isFault(run, "input-unreachable")) return { code: "2013", message: "invalid params, failed to download the media" };
  if (isFault(run, "fail", "fail-later")) return { code: "1000", message: "internal error" };
  return undefined;
};

const statusOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  if (state !== "done") return state;
  if (isFault(job.faults.run, "aborted")) return "cancelled";
  return errorOf(job) ? "failed" : "succeeded";
};

const taskOf = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const status = says ?? statusOf(bench, job);
  const error = errorOf(job);
  const seconds = (ms: number) => Math.floor(ms / 1000);
  const isDone = status === "succeeded";
  const [file] = isDone ? await bench.results.announce(job, origin) : [];
  const { resolution = null, duration = null, aspect_ratio: ratio = "adaptive" } = job.input;
  const length = Number(duration);
  return {
    ...{ id: job.id, model: job.endpoint, status, created_at: seconds(job.acceptedAtMs) },
    updated_at: seconds(Math.min(bench.clock.nowMs(), endsAtMs(job))),
    ...(status === "failed" && error ? { error } : {}),
    ...(isDone ? { content: file ? { url: file.url } : {} } : {}),
    ...{ resolution, duration, ratio, task_type: "generation", modality: "video" },
    usage: isDone ? { total_seconds: length, input_seconds: 0, output_seconds: length, input_image_count: 0 } : {},
  };
};

const answerPoll = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const isDone = ["succeeded", "failed", "cancelled"].includes(statusOf(bench, job));
  const trouble = troubleOf(job, isDone);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return unknownTask();
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && isDone && job.polls <= numberOf(poll, "polls"))
    return failed(500, "server_error", "internal error", 1000);
  const says = { unknown: "reviewing", "says-done": "succeeded", "says-running": "running" };
  const task = await taskOf(bench, job, request.origin, trouble && says[trouble]);
  if (task.status === "succeeded") await noteOnce(bench, job, "announced");
  return json(200, { task });
};

const list = async (bench: Bench, request: SimulatorRequest): Promise<Answer> => {
  const trouble = listTroubleOf(bench, words.provider);
  if (trouble) return trouble;
  const number = (name: string, otherwise: number) => Number(request.query.get(name) ?? otherwise);
  const [model, status] = [request.query.get("filter.model"), request.query.get("filter.status")];
  const [pageNum, pageSize] = [number("page_num", 1), number("page_size", 20)];
  const sinceMs = bench.clock.nowMs() - KEPT_MS;
  const fitting = bench.jobs
    .of(words.provider)
    .filter((job) => job.acceptedAtMs >= sinceMs && (model === null || job.endpoint === model))
    .filter((job) => status === null || statusOf(bench, job) === status)
    .toReversed();
  const shown = fitting.slice((pageNum - 1) * pageSize, pageNum * pageSize);
  const items = await Promise.all(shown.map((job) => taskOf(bench, job, request.origin)));
  return json(200, { items, total: fitting.length });
};

/** The same request cancels a waiting task and deletes the record of a finished one. */
const remove = async (bench: Bench, job: Job): Promise<Answer> => {
  const status = statusOf(bench, job);
  if (status === "running" || status === "cancelled") return notValid(`a task that is ${status} cannot be cancelled or deleted`);
  if (status === "queued") await cancelJob(bench, job);
  else bench.jobs.forget(job);
  const action = status === "queued" ? "cancelled" : "deleted";
  return json(200, { task_id: job.id, action, status: action });
};

/** Handles a request below MiniMax's base path. */
export const handleMinimax: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  if (path === TASKS && request.method === "POST") {
    const model = bodyObject(request)?.model;
    return takeIn(bench, words, request, typeof model === "string" ? model : "", credential);
  }
  if (credential === undefined) return refused(makeFault("401"));
  if (path === QUERY && request.method === "GET") return list(bench, request);
  const [, base = "", id = ""] = /^(\/v2(?:\/query)?\/video_generation)\/(\w+)$/.exec(path) ?? [];
  const job = bench.jobs.find(words.provider, id);
  if (!job || job.acceptedAtMs + KEPT_MS < bench.clock.nowMs()) return unknownTask();
  if (base === QUERY && request.method === "GET") return answerPoll(bench, job, request);
  if (base === TASKS && request.method === "DELETE") return remove(bench, job);
  return page(405, "Method Not Allowed");
};
