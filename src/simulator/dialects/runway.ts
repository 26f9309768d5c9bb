// Simulates Runway's tasks as documented: one endpoint per kind of work.
//
// Each poll returns new URLs, and a DELETE cancels or deletes a task.
import type { Json, JsonObject } from "../../domain/types.ts";
import {
  type Bench,
  cancelJob,
  credentialOf,
  type DialectResponses,
  noteOnce,
  type Problem,
  takeIn,
  takeUpload,
  troubleOf,
} from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, bodyObject, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrDataUri } from "../inline-media.ts";
import type { Job } from "../jobs.ts";
import { POLICY } from "../upload-storage.ts";

/** The only API version; every request requires it. */
const VERSION = "2024-11-06";
const KINDS = /^\/v1\/(?:text_to_video|image_to_video|video_to_video|text_to_image)$/;
const TASK = /^\/v1\/tasks\/([\w-]+)$/;

const failed = (status: number, error: string, headers: Record<string, string> = {}): Reply => json(status, { error }, headers);
const notFound = () => failed(404, "Could not find Task");

type Issue = { code: string; path: string[]; message: string };
const unfit = (issues: readonly Issue[]): Reply =>
  json(400, { error: "Validation of body failed", issues, docUrl: "https://docs.dev.runwayml.com/api" });

/** No response has status 402, and an unknown model is a validation error. */
const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "The API key in the request is not valid.");
    case "402":
      return failed(400, "You do not have enough credits to run this task.");
    case "403":
      return failed(403, "Model variant is not available.");
    case "404":
      return unfit([{ code: "invalid_union", path: ["model"], message: "Invalid input" }]);
    case "429":
      return failed(429, "Your daily task limit has been reached.", { "retry-after": String(numberOf(fault, "retry_after_s")) });
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

/** Runway's names of the common fields. */
const NAMES: Readonly<Record<string, string>> = {
  prompt: "promptText",
  image_url: "promptImage",
  end_image_url: "promptImage",
  video_url: "promptVideo",
  resolution: "ratio",
  aspect_ratio: "ratio",
};
const invalid = (problems: readonly Problem[]): Reply =>
  unfit(
    problems.map(({ field, message, type }) => ({
      code: type === "missing" ? "invalid_type" : "custom",
      path: field === null ? [] : [NAMES[field] ?? field],
      message,
    })),
  );

/** The URL of a list item; clips and sounds must state their type. */
const uriOf = (part: Json, type?: string): Json => {
  const { uri = null, type: declared }: JsonObject = isObject(part) ? part : {};
  return declared === type ? uri : null;
};
const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/** Frames and references of `promptImage`: a plain URL is the first frame, an item without a position is a reference. */
const picturesOf = (pictures: Json | undefined): JsonObject => {
  if (!Array.isArray(pictures)) return pictures === undefined ? {} : { image_url: pictures };
  const at = (place: string | undefined) =>
    pictures.filter((part) => isObject(part) && part.position === place).map((part) => uriOf(part));
  const [[first], [last], references] = [at("first"), at("last"), at(undefined)];
  return {
    ...(first === undefined ? {} : { image_url: first }),
    ...(last === undefined ? {} : { end_image_url: last }),
    ...(references.length > 0 ? { image_urls: references } : {}),
  };
};

/** A size in pixels, such as `1280:720`, in the common field names. */
const sizeOf = (ratio: Json | undefined): JsonObject => {
  if (ratio === undefined) return {};
  const [, wide, high] = /^(\d{3,4}):(\d{3,4})$/.exec(String(ratio)) ?? [];
  if (wide === undefined || high === undefined) return { aspect_ratio: null };
  const [width, height] = [Number(wide), Number(high)];
  const area = width * height;
  const [resolution = "2160p"] = area < 6e5 ? ["480p"] : area < 1.5e6 ? ["720p"] : area < 4e6 ? ["1080p"] : [];
  return { width, height, resolution, aspect_ratio: `${wide}:${high}` };
};

const inputOf = (body: JsonObject): JsonObject | undefined => {
  const { model, promptText, promptImage, promptVideo, videoUri, ratio, duration, seed, audio } = body;
  if (typeof model !== "string") return undefined;
  const pictures = picturesOf(promptImage);
  const references = [...listOf(body.references), ...listOf(body.referenceImages)].map((part) => uriOf(part));
  const clips = listOf(body.referenceVideos).map((part) => uriOf(part, "video"));
  const sounds = listOf(body.referenceAudio).map((part) => uriOf(part, "audio"));
  // An invalid item invalidates the body, as an invalid value does.
  const isUnfit = [...references, ...clips, ...sounds].includes(null);
  const images = [...listOf(pictures.image_urls), ...references];
  const video = promptVideo ?? videoUri;
  return {
    ...pictures,
    ...sizeOf(ratio),
    ...(isUnfit ? { video_url: null } : video === undefined ? {} : { video_url: video }),
    ...(promptText === undefined ? {} : { prompt: promptText }),
    ...(images.length > 0 ? { image_urls: images } : {}),
    ...(clips.length > 0 ? { video_urls: clips } : {}),
    ...(sounds.length > 0 ? { audio_urls: sounds } : {}),
    ...(duration === undefined ? {} : { duration: Number.isInteger(duration) ? duration : null }),
    ...(seed === undefined ? {} : { seed }),
    ...(typeof audio === "boolean" ? { generate_audio: audio } : {}),
  };
};

const ESTIMATE = { estimatedCost: { credits: 25 } };

const words: DialectResponses = {
  provider: "runway",
  checksAtOnce: true,
  newId: () => crypto.randomUUID(),
  inputOf,
  // Media are downloaded during the submission, so an unreachable file is refused immediately.
  accepted: ({ id, faults: { run } }) =>
    isFault(run, "input-unreachable")
      ? unfit([{ code: "custom", path: ["promptImage"], message: 'Failed to fetch asset. Received HTTP response code "404".' }])
      : json(200, { id, ...ESTIMATE }),
  withoutId: () => json(200, ESTIMATE),
  refused,
  invalid,
};

/** The failure of a finished task. */
const failureOf = ({ faults: { run } }: Job): JsonObject | undefined => {
  if (isFault(run, "refuse"))
    return { failure: "The input was flagged by our content moderation system.", failureCode: "SAFETY.INPUT.TEXT" };
  if (isFault(run, "refuse-output", "withheld"))
    return { failure: "The output was flagged by our content moderation system.", failureCode: "SAFETY.OUTPUT.VIDEO" };
  if (isFault(run, "fail", "fail-later"))
    return { failure: "An unexpected error occurred.", failureCode: "INTERNAL.BAD_OUTPUT.CODE01" };
  return undefined;
};

const statusOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  // Some tasks wait for other tasks of the account before they are queued.
  if (state === "queued") return job.plan.seed % 2 === 0 ? "PENDING" : "THROTTLED";
  if (state === "running") return "RUNNING";
  if (isFault(job.faults.run, "aborted")) return "CANCELLED";
  return failureOf(job) ? "FAILED" : "SUCCEEDED";
};

const taskOf = async (bench: Bench, job: Job, origin: string, status: string): Promise<JsonObject> => {
  const { id, acceptedAtMs, plan } = job;
  const share = (bench.clock.nowMs() - acceptedAtMs) / (plan.totalMs ?? Number.POSITIVE_INFINITY);
  return {
    ...{ id, createdAt: new Date(acceptedAtMs).toISOString(), status },
    ...(status === "RUNNING" ? { progress: Math.min(0.99, share) } : {}),
    ...(status === "FAILED" ? failureOf(job) : {}),
    ...(status === "SUCCEEDED" ? { output: (await bench.results.announce(job, origin)).map(({ url }) => url) } : {}),
    ...(["SUCCEEDED", "FAILED", "CANCELLED"].includes(status) ? { cost: { credits: 25 } } : ESTIMATE),
  };
};

const shownJob = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const trouble = troubleOf(job, bench.jobs.state(job) === "done");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const says = { unknown: "REVIEWING", "says-done": "SUCCEEDED", "says-running": "RUNNING" };
  const status = trouble === undefined ? statusOf(bench, job) : says[trouble];
  const task = await taskOf(bench, job, request.origin, status);
  if (status === "SUCCEEDED") await noteOnce(bench, job, "announced");
  return json(200, task);
};

/** `POST /v1/uploads`: an address for the file, the texts of its form, and the URI for later requests. */
const beginUpload = (bench: Bench, request: SimulatorRequest): Reply => {
  const { filename, type } = bodyObject(request) ?? {};
  if (typeof filename !== "string" || !/\.[a-z0-9]+$/i.test(filename))
    return unfit([{ code: "custom", path: ["filename"], message: "A file name with an extension is required" }]);
  if (type !== "ephemeral")
    return unfit([{ code: "invalid_value", path: ["type"], message: 'Invalid input: expected "ephemeral"' }]);
  const { id, url } = bench.uploads.reserve(request.origin, "application/octet-stream");
  return json(200, { uploadUrl: url, fields: { key: id, policy: POLICY }, runwayUri: `${URI}${id}` });
};

const URI = "runway://";
const ID = /^[0-9a-f-]{36}$/;
const MAX_MB = { image: 5, video: 16, audio: 16 } as const;

/** A value that names a file: a link, a data URI within its bound, or the URI of an upload, which becomes its link. */
const assetOf = (bench: Bench, origin: string, value: Json): Json => {
  if (typeof value !== "string" || !value.startsWith(URI)) {
    for (const kind of ["image", "video", "audio"] as const)
      if (linkOrDataUri(value, [kind], MAX_MB[kind]) !== null) return value;
    return null;
  }
  const id = value.slice(URI.length);
  return (ID.test(id) && bench.uploads.linkOf(origin, id)) || null;
};

const ASSETS = ["image_url", "end_image_url", "video_url", "image_urls", "video_urls", "audio_urls"];
/** The responses to a request whose input contains the links of its uploads. */
const wordsFor = (bench: Bench, { origin }: SimulatorRequest): DialectResponses => ({
  ...words,
  inputOf: (body) => {
    const input = inputOf(body);
    if (input === undefined) return undefined;
    const assets = ASSETS.flatMap((name): [string, Json][] => {
      const value = input[name];
      if (value === undefined) return [];
      return [[name, Array.isArray(value) ? value.map((one) => assetOf(bench, origin, one)) : assetOf(bench, origin, value)]];
    });
    const isUnfit = assets.some(([, value]) => [value].flat().includes(null));
    return { ...input, ...Object.fromEntries(assets), ...(isUnfit ? { image_url: null } : {}) };
  },
});

/** Handles a request to the service; `path` begins with `/v1`. */
export const handleRunway: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  if (request.headers["x-runway-version"] !== VERSION)
    return failed(400, "The X-Runway-Version header is missing or names no known version.");
  if (KINDS.test(path))
    return request.method === "POST"
      ? takeIn(bench, wordsFor(bench, request), request, path.slice(1), credential)
      : failed(405, "The method is not supported.");
  if (path === "/v1/uploads" && request.method === "POST")
    return takeUpload(
      bench,
      "runway",
      credential,
      () => refused(makeFault("401")),
      () => beginUpload(bench, request),
    );
  if (credential === undefined) return refused(makeFault("401"));
  const job = bench.jobs.find("runway", TASK.exec(path)?.[1] ?? "");
  // A cancelled task is removed with its results, like a deleted one.
  if (!job || bench.jobs.state(job) === "cancelled") return notFound();
  if (request.method === "GET") return shownJob(bench, job, request);
  if (request.method !== "DELETE") return failed(405, "The method is not supported.");
  if (bench.jobs.state(job) === "done") bench.jobs.forget(job);
  else await cancelJob(bench, job);
  return { kind: "reply", status: 204, headers: {}, body: "" };
};
