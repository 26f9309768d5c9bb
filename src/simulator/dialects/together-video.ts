// Simulates Together AI's videos as documented: create and get only.
//
// All media are in one object, and text describes the failures.
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, noteOnce, takeIn, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { isFault, makeFault } from "../faults.ts";
import { type Answer, bodyObject, isObject, json, type Reply, type SimulatorRequest } from "../http-server.ts";
import { endsAtMs, type Job } from "../jobs.ts";
import {
  type Check,
  invalidForTogether,
  isFlag,
  isListOf,
  isNumber,
  isOneOf,
  isText,
  isWhole,
  refusedByTogether,
  togetherError,
  wrongByTable,
} from "./together.ts";

const PROVIDER = "together-video";

/** An object with only `member`, which is a URL. */
const holds =
  (member: string): Check =>
  (value) =>
    isObject(value) && isText(value[member]) && Object.keys(value).length === 1;
const isEither =
  (...checks: Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
const isFrame: Check = (value) => {
  if (!isObject(value) || !isText(value.input_image)) return false;
  const { input_image: _, frame, ...others } = value;
  return Object.keys(others).length === 0 && (frame === undefined || isNumber(frame) || isOneOf("first", "last")(frame));
};

const MEDIA: Readonly<Record<string, Check>> = {
  ...{ frame_images: isListOf(isFrame), frame_videos: isListOf(holds("video")) },
  ...{ reference_images: isListOf(isText), reference_videos: isListOf(holds("video")) },
  ...{ source_video: isEither(isText, holds("video")), audio_inputs: isListOf(isEither(isText, holds("audio"))) },
};
const TAKEN: Readonly<Record<string, Check>> = {
  ...{ model: isText, prompt: isText, negative_prompt: isText, resolution: isText, ratio: isText, generate_audio: isFlag },
  // A length is a string here.
  seconds: (value) => typeof value === "string" && Number(value) > 0,
  ...{ width: isWhole, height: isWhole, fps: isWhole, steps: isWhole, seed: isWhole, guidance_scale: isNumber },
  ...{ output_format: isOneOf("MP4", "WEBM"), output_quality: isWhole },
  // The position of these fields before the media object existed.
  ...{ frame_images: isListOf(isFrame), reference_images: isListOf(isText) },
  media: (value) => isObject(value) && Object.entries(value).every(([name, one]) => MEDIA[name]?.(one) ?? false),
};

/** A URL that is plain or inside an object. */
const linkOf = (value: unknown, member: string): unknown => (isObject(value) ? value[member] : value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const mediaOf = (media: JsonObject): JsonObject => {
  const frames = listOf(media.frame_images).filter(isObject);
  const last = frames.find(({ frame }) => frame === "last");
  const first = frames.find((frame) => frame !== last);
  const declared: Record<string, unknown> = {
    ...{ image_url: first?.input_image, end_image_url: last?.input_image, image_urls: media.reference_images },
    video_url: linkOf(media.source_video, "video"),
    video_urls: listOf(media.reference_videos).map((one) => linkOf(one, "video")),
    audio_urls: listOf(media.audio_inputs).map((one) => linkOf(one, "audio")),
  };
  const isGiven = (value: unknown) => value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(declared).filter(([, value]) => isGiven(value))) as JsonObject;
};

const inputOf = (body: JsonObject): JsonObject => {
  const { prompt, seconds = "5", resolution, ratio, width, height, seed, generate_audio = false } = body;
  const { frame_images, reference_images } = body;
  const media = body.media ?? { ...(frame_images && { frame_images }), ...(reference_images && { reference_images }) };
  const shape = resolution === undefined ? `${String(width ?? 1366)}:${String(height ?? 768)}` : undefined;
  const declared = { prompt, duration: Number(seconds), resolution, aspect_ratio: ratio ?? shape, seed, generate_audio };
  const given = Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== undefined)) as JsonObject;
  return { ...given, ...(isObject(media) ? mediaOf(media) : {}) };
};

/** The failure of a job. Some failures have a code, some only a text. */
const errorOf = ({ endpoint, input, faults: { run } }: Job): JsonObject | undefined => {
  if (isFault(run, "refuse")) return { message: "The prompt was flagged and rejected by the model's content moderation system" };
  if (isFault(run, "refuse-output", "withheld"))
    return {
      message:
        "Invalid content detected. The generated content was flagged and rejected by the model's content moderation system",
    };
  if (isFault(run, "input-unreachable")) return { code: "InvalidParameter", message: "The input media could not be downloaded." };
  if (isFault(run, "fail", "fail-later")) return { code: "InternalError", message: "Video generation failed." };
  // Accepted first and refused later: this model family requires a capital P in resolutions.
  if (endpoint.startsWith("Wan-AI/") && typeof input.resolution === "string" && !/^(720|1080)P$/.test(input.resolution))
    return { code: "InvalidParameter", message: `The resolution ${input.resolution} is not valid.` };
  return undefined;
};

const statusOf = (bench: Bench, job: Job): string => {
  if (bench.jobs.state(job) !== "done") return "in_progress";
  if (isFault(job.faults.run, "aborted")) return "cancelled";
  return errorOf(job) ? "failed" : "completed";
};

const commonOf = async (bench: Bench, job: Job, status: string): Promise<JsonObject> => {
  const { sketch } = await bench.results.parsedRequestOf(job);
  return {
    ...{ id: job.id, object: "video", model: job.endpoint, status, created_at: Math.floor(job.acceptedAtMs / 1000) },
    ...{ seconds: String(job.input.duration ?? ""), size: `${sketch.width}x${sketch.height}` },
  };
};

const videoOf = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const status = says ?? statusOf(bench, job);
  const isOver = status !== "in_progress" && Number.isFinite(endsAtMs(job));
  const [file] = status === "completed" ? await bench.results.announce(job, origin) : [];
  return {
    ...(await commonOf(bench, job, status)),
    ...(isOver ? { completed_at: Math.floor(endsAtMs(job) / 1000) } : {}),
    ...(status === "failed" ? { error: errorOf(job) ?? {} } : {}),
    ...(status === "completed" ? { outputs: { cost: 0.28, ...(file ? { video_url: file.url } : {}) } } : {}),
  };
};

const wordsFor = (bench: Bench, wrong: Reply | undefined): DialectResponses => ({
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => randomUUID(),
  inputOf: (body) => (wrong ? undefined : inputOf(body)),
  accepted: async (job) => json(200, await commonOf(bench, job, "in_progress")),
  withoutId: () => json(200, { object: "video", status: "in_progress" }),
  refused: refusedByTogether,
  invalid: (problems) => wrong ?? invalidForTogether(problems),
});

const notFound = (id: string) => togetherError(404, `Video ${id} not found.`, { param: "id" });

const poll = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const trouble = troubleOf(job, bench.jobs.state(job) === "done");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound(job.id);
  const says = { unknown: "warming_up", "says-done": "completed", "says-running": "in_progress" };
  const video = await videoOf(bench, job, request.origin, trouble && says[trouble]);
  if (video.status === "completed") await noteOnce(bench, job, "announced");
  return json(200, video);
};

/** Handles a request below `/together-video/v2`. */
export const handleTogetherVideo: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  if (path === "/videos" && request.method === "POST") {
    const body = bodyObject(request);
    const model = typeof body?.model === "string" ? body.model : "";
    return takeIn(bench, wordsFor(bench, body && wrongByTable(body, TAKEN, ["model"])), request, model, credential);
  }
  if (credential === undefined) return refusedByTogether(makeFault("401"));
  const [, id] = /^\/videos\/([\w-]+)$/.exec(path) ?? [];
  if (id === undefined) return togetherError(404, `Unknown request URL: ${request.method} /v2${path}.`);
  if (request.method !== "GET") return togetherError(405, `Method ${request.method} is not allowed.`);
  const job = bench.jobs.find(PROVIDER, id);
  return job ? poll(bench, job, request) : notFound(id);
};
