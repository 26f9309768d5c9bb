// Simulates the FLUX API of Black Forest Labs as documented.
//
// Each model has a path, each task a polling URL, and moderation is a status.
import type { Json, JsonObject } from "../../domain/types.ts";
import { type Bench, type DialectResponses, noteOnce, type Problem, takeIn, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, bodyObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrBase64 } from "../inline-media.ts";
import { endsAtMs, type Job } from "../jobs.ts";

const MAX_PICTURE_MB = 20;
const MODEL = /^\/(flux-[\w.-]+)$/;
/** A task exists in one region and is known only at the polling URL of its submission's response. */
const REGION = "/us1";
const TIERS: Readonly<Record<string, string>> = { hd: "720p", fhd: "1080p" };
const PICTURES = [
  "input_image_2",
  "input_image_3",
  "input_image_4",
  "input_image_5",
  "input_image_6",
  "input_image_7",
  "input_image_8",
];
/** All fields of a clip request; any other field is refused. */
const CLIP_FIELDS: readonly string[] = [
  ...["mode", "prompt", "keyframes", "start_video", "aspect_ratio", "resolution", "duration", "generate_audio", "version"],
  ...["draft", "batch", "safety_tolerance", "webhook_url", "webhook_secret"],
];

const failed = (status: number, detail: Json): Reply => json(status, { detail });

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(403, "Not authenticated");
    case "402":
      return failed(402, "Insufficient credits. Visit https://api.bfl.ai to add credits.");
    case "403":
      return failed(403, "Your API key does not have permission to access the specified resource.");
    case "404":
      return failed(404, "Not Found");
    case "429": {
      const seconds = numberOf(fault, "retry_after_s");
      const declared = { error: "rate_limit_exceeded", message: "Too many concurrent requests", retry_after: seconds };
      return json(429, declared, { "retry-after": String(seconds), "x-ratelimit-limit": "24", "x-ratelimit-remaining": "0" });
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = (problems: readonly Problem[]): Reply =>
  failed(
    422,
    problems.map(({ field, message, type }) => ({ loc: ["body", ...(field === null ? [] : [field])], msg: message, type })),
  );

/** A media value is a URL or a picture of at most 20 MB in plain base64, never a data URI. */
const mediumOf = (value: Json | undefined): Json => linkOrBase64(value, MAX_PICTURE_MB);

/** One image, or a list of them, some with the second at which they appear. The first and the last are the frames. */
const framesOf = (keyframes: Json): JsonObject => {
  const list = Array.isArray(keyframes) ? keyframes : [keyframes];
  const frames = list.map((frame) => mediumOf(Array.isArray(frame) ? frame[1] : frame));
  const [first = null] = frames;
  return {
    image_url: frames.includes(null) ? null : first,
    ...(frames.length > 1 ? { end_image_url: frames.at(-1) ?? null } : {}),
  };
};

const clipOf = (body: JsonObject): JsonObject => {
  const { prompt, keyframes, start_video, aspect_ratio, resolution = "hd", duration, generate_audio = true } = body;
  const tier = typeof resolution === "string" ? TIERS[resolution] : undefined;
  const isKnown = Object.keys(body).every((name) => CLIP_FIELDS.includes(name));
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(keyframes === undefined ? {} : framesOf(keyframes)),
    ...(start_video === undefined ? {} : { video_url: mediumOf(start_video) }),
    ...(aspect_ratio === undefined ? {} : { aspect_ratio }),
    // A strict schema: an unknown value invalidates the request.
    resolution: isKnown ? (tier ?? null) : null,
    ...(duration === undefined ? {} : { duration }),
    generate_audio,
  };
};

const pictureOf = (body: JsonObject): JsonObject => {
  const { prompt, width, height, input_image, image_prompt, aspect_ratio, output_format = "jpeg" } = body;
  const source = input_image ?? image_prompt;
  const others = PICTURES.flatMap((name) => (body[name] === undefined ? [] : [mediumOf(body[name])]));
  return {
    ...(prompt === undefined ? {} : { prompt }),
    // 0 selects a size automatically.
    ...(width ? { width } : {}),
    ...(height ? { height } : {}),
    ...(others.includes(null) ? { image_url: null } : source === undefined ? {} : { image_url: mediumOf(source) }),
    ...(others.length > 0 ? { image_urls: others } : {}),
    ...(aspect_ratio === undefined ? {} : { aspect_ratio }),
    output_format,
  };
};

const isClip = (model: string) => model.includes("video");

const wordsOf = (model: string): DialectResponses => ({
  provider: "bfl",
  checksAtOnce: true,
  newId: () => crypto.randomUUID(),
  inputOf: (body) => (isClip(model) ? clipOf(body) : pictureOf(body)),
  markOf: (body) => body.webhook_url,
  // A submission with a webhook receives no polling URL.
  accepted: (job, request) => {
    const hook = bodyObject(request)?.webhook_url;
    if (typeof hook === "string") return json(200, { id: job.id, status: "Pending", webhook_url: hook });
    const polling_url = `${request.origin}/bfl/v1${REGION}/get_result?id=${job.id}`;
    return json(200, { id: job.id, polling_url, cost: 3, input_mp: 0, output_mp: 1 });
  },
  withoutId: () => json(200, { cost: 3, input_mp: 0, output_mp: 1 }),
  refused,
  invalid,
});

type Seen = { status: string; details?: Json };

/** The end of a finished task. */
const endOf = ({ faults: { run } }: Job): Seen => {
  const reasons = { "Moderation Reasons": ["Safety Filter"] };
  if (isFault(run, "refuse")) return { status: "Request Moderated", details: reasons };
  if (isFault(run, "refuse-output", "withheld")) return { status: "Content Moderated", details: reasons };
  if (isFault(run, "input-unreachable")) return { status: "Error", details: { error: "Failed to load the input image." } };
  if (isFault(run, "fail", "fail-later", "aborted")) return { status: "Error", details: { error: "Internal error." } };
  return { status: "Ready" };
};

const stageOf = (bench: Bench, job: Job): Seen => {
  const state = bench.jobs.state(job);
  if (state === "done") return endOf(job);
  // Clips report their progress.
  if (state === "queued" || !isClip(job.endpoint)) return { status: "Pending" };
  return { status: job.plan.seed % 2 === 0 ? "Reasoning" : "Generating" };
};

const answerOf = (id: string, { status, details = null }: Seen, result: Json = null): JsonObject => ({
  ...{ id, status, result, progress: status === "Pending" ? 0 : null, details, preview: null },
});
/** Reported with status 200, like every other state of a task. */
const notFound = (id: string): Reply => json(200, answerOf(id, { status: "Task not found" }));

const shownJob = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const trouble = troubleOf(job, bench.jobs.state(job) === "done");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound(job.id);
  const says = { unknown: "Upscaling", "says-done": "Ready", "says-running": "Pending" };
  const seen = trouble === undefined ? stageOf(bench, job) : { status: says[trouble] };
  if (seen.status !== "Ready") return json(200, answerOf(job.id, seen));
  const [file] = await bench.results.announce(job, request.origin);
  const { prompt = "" } = job.input;
  const [startS, endS] = [job.acceptedAtMs / 1000, endsAtMs(job) / 1000];
  const times = { start_time: startS, end_time: endS, duration: endS - startS };
  await noteOnce(bench, job, "announced");
  return json(200, answerOf(job.id, seen, { ...(file ? { sample: file.url } : {}), prompt, seed: job.plan.seed, ...times }));
};

/** Handles a request below `/v1`. */
export const handleBfl: DialectHandler = async (bench, request, path) => {
  const credential = request.headers["x-key"] || undefined;
  const [, model] = MODEL.exec(path) ?? [];
  if (model !== undefined)
    return request.method === "POST"
      ? takeIn(bench, wordsOf(model), request, model, credential)
      : failed(405, "Method Not Allowed");
  if (credential === undefined) return refused(makeFault("401"));
  const isRegional = path === `${REGION}/get_result`;
  if (request.method !== "GET" || (path !== "/get_result" && !isRegional)) return failed(404, "Not Found");
  const id = request.query.get("id");
  if (id === null) return failed(422, [{ loc: ["query", "id"], msg: "Field required", type: "missing" }]);
  const job = bench.jobs.find("bfl", id);
  // A task that was submitted with a webhook is known at the common address.
  const isReported = job?.ref?.startsWith("http") ?? false;
  return job && isRegional !== isReported ? shownJob(bench, job, request) : notFound(id);
};
