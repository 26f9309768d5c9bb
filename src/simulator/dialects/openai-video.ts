// Simulates the OpenAI videos API as documented, which gateways still support.
//
// Videos are created, polled, listed, deleted and, with the credential, downloaded.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, listTroubleOf, noteOnce, takeIn, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, bodyObject, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { endsAtMs, type Job } from "../jobs.ts";
import { formObject } from "../multipart.ts";
import {
  invalidForOpenAI,
  isImageReference,
  openaiError,
  refusedByOpenAI,
  unknownParameter,
  wrongPrompt,
  wrongType,
  wrongValue,
} from "./openai.ts";

const PROVIDER = "openai-video";
const TAKEN = ["model", "prompt", "input_reference", "seconds", "size"];
const SORA_SECONDS = ["4", "8", "12"];
const SORA_SIZES = ["720x1280", "1280x720", "1024x1792", "1792x1024"];
const DEFAULTS = { model: "sora-2", seconds: "4", size: "720x1280" } as const;
const MAX_LISTED = 100;
const USUALLY_LISTED = 20;
/** How long results can be downloaded. */
const KEPT_S = 86_400;

const notFound = (id: string) => openaiError(404, null, `Video with id '${id}' not found.`);

/** OpenAI's own models support three lengths and four sizes; other models of gateways are not restricted. */
const wrongWith = (body: JsonObject): Reply | undefined => {
  const unknown = Object.keys(body).find((name) => !TAKEN.includes(name));
  if (unknown !== undefined) return unknownParameter(unknown);
  const { model = DEFAULTS.model, seconds = DEFAULTS.seconds, size = DEFAULTS.size, input_reference } = body;
  if (typeof model !== "string") return wrongType("model", "a string");
  const isSora = model.startsWith("sora");
  // A number is refused, even with a valid value.
  if (typeof seconds !== "string" || !(Number(seconds) > 0) || (isSora && !SORA_SECONDS.includes(seconds)))
    return wrongType("seconds", `one of ${SORA_SECONDS.map((word) => `'${word}'`).join(", ")}`);
  if (typeof size !== "string" || !/^\d+x\d+$/.test(size) || (isSora && !SORA_SIZES.includes(size)))
    return wrongValue("size", `Invalid value: '${String(size)}'. Supported values are: ${SORA_SIZES.join(", ")}.`);
  if (input_reference !== undefined && !isImageReference(input_reference))
    return wrongType("input_reference", "an object with image_url or file_id");
  return wrongPrompt(body.prompt);
};

/** The body, as JSON or as the SDK's form. In a form an image is a file, or its URL in an object. */
const bodyOf = (request: SimulatorRequest): JsonObject | undefined => {
  const form = formObject(request);
  if (typeof form?.input_reference !== "string") return form ?? bodyObject(request);
  return { ...form, input_reference: { image_url: form.input_reference } };
};

const inputOf = (body: JsonObject): JsonObject => {
  const { prompt = "", seconds = DEFAULTS.seconds, size = DEFAULTS.size, input_reference } = body;
  const [width = 0, height = 0] = String(size).split("x").map(Number);
  const shape = { size, resolution: `${Math.min(width, height)}p`, aspect_ratio: `${width}:${height}` };
  const picture =
    isObject(input_reference) && input_reference.image_url !== undefined ? { image_url: input_reference.image_url } : {};
  return { prompt, seconds, duration: Number(seconds), generate_audio: true, ...shape, ...picture };
};

const MODERATED = "Your request was blocked by our moderation system.";
/** The failure of a job. Refusals of input and output share one code, the former before any work and the latter after it. */
const errorOf = ({ faults: { run } }: Job): JsonObject | null => {
  if (isFault(run, "refuse", "refuse-output", "withheld")) return { code: "moderation_blocked", message: MODERATED };
  if (isFault(run, "input-unreachable"))
    return { code: "failed_to_download_image", message: "The reference image could not be downloaded." };
  if (isFault(run, "fail", "fail-later", "aborted"))
    return { code: "server_error", message: "The video could not be generated." };
  return null;
};

/** Status and progress in per cent. */
const progressOf = (bench: Bench, job: Job): { status: string; progress: number } => {
  const state = bench.jobs.state(job);
  if (state === "queued") return { status: "queued", progress: 0 };
  if (state === "running") return { status: "in_progress", progress: 50 };
  return errorOf(job) === null ? { status: "completed", progress: 100 } : { status: "failed", progress: 50 };
};

const videoOf = (job: Job, { status, progress }: { status: string; progress: number }): JsonObject => {
  const isOver = (status === "completed" || status === "failed") && Number.isFinite(endsAtMs(job));
  const endedAt = isOver ? Math.floor(endsAtMs(job) / 1000) : null;
  return {
    ...{ id: job.id, object: "video", model: job.endpoint, status, progress },
    ...{ created_at: Math.floor(job.acceptedAtMs / 1000), completed_at: endedAt },
    expires_at: status === "completed" && endedAt !== null ? endedAt + KEPT_S : null,
    ...{ prompt: job.input.prompt ?? null, seconds: job.input.seconds ?? null, size: job.input.size ?? null },
    remixed_from_video_id: null,
    error: status === "failed" ? errorOf(job) : null,
  };
};

const wordsFor = (wrong: Reply | undefined): DialectResponses => ({
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => `video_${randomBytes(24).toString("hex")}`,
  bodyOf,
  inputOf: (body) => (wrong ? undefined : inputOf(body)),
  accepted: (job) => json(200, videoOf(job, { status: "queued", progress: 0 })),
  withoutId: () => json(200, { object: "video", status: "queued", progress: 0 }),
  refused: refusedByOpenAI,
  refusal: () => openaiError(400, "moderation_blocked", MODERATED),
  invalid: (problems) => wrong ?? invalidForOpenAI(problems),
});

const poll = async (bench: Bench, job: Job): Promise<Answer> => {
  const really = progressOf(bench, job);
  const trouble = troubleOf(job, bench.jobs.state(job) === "done");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound(job.id);
  const says = { unknown: "warming_up", "says-done": "completed", "says-running": "in_progress" };
  const video = videoOf(job, trouble ? { ...really, status: says[trouble] } : really);
  if (video.status === "completed") await noteOnce(bench, job, "announced");
  return json(200, video);
};

/** `GET /videos/ID/content`: the bytes of a finished result, until it expires. */
const content = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const variant = request.query.get("variant") ?? "video";
  if (variant !== "video") return wrongValue("variant", `Only the clip is made here, no ${variant}.`);
  const { poll, file } = job.faults;
  if (progressOf(bench, job).status !== "completed" || isFault(file, "no-file"))
    return openaiError(404, null, "Video is not ready yet.");
  if (endsAtMs(job) + KEPT_S * 1000 < bench.clock.nowMs()) return openaiError(404, null, "Video has expired.");
  if (isFault(poll, "result-5xx") && numberOf(poll, "polls") > 0) {
    job.faults.poll = makeFault("result-5xx", { polls: numberOf(poll, "polls") - 1 });
    return page(502, "Bad Gateway");
  }
  const answer = await bench.results.deliver(request, job, 1);
  if (answer.kind === "reply" && answer.status === 200) await noteOnce(bench, job, "fetched");
  return answer;
};

/** `GET /videos?limit&after&order`: newest first by default; `after` is the last id of the previous page. */
const list = (bench: Bench, request: SimulatorRequest): Answer => {
  const trouble = listTroubleOf(bench, PROVIDER);
  if (trouble) return trouble;
  const limit = Number(request.query.get("limit") ?? USUALLY_LISTED);
  if (!Number.isInteger(limit) || limit < 0 || limit > MAX_LISTED)
    return wrongValue("limit", `Invalid 'limit': 0 to ${MAX_LISTED}.`);
  const all = bench.jobs.of(PROVIDER);
  const jobs = request.query.get("order") === "asc" ? all : all.toReversed();
  const after = request.query.get("after");
  const from = after === null ? 0 : jobs.findIndex(({ id }) => id === after) + 1;
  if (after !== null && from === 0) return notFound(after);
  const listed = jobs.slice(from, from + limit).map((job) => videoOf(job, progressOf(bench, job)));
  const [first_id, last_id] = [listed[0]?.id ?? null, listed.at(-1)?.id ?? null];
  return json(200, { object: "list", data: listed, first_id, last_id, has_more: jobs.length > from + limit });
};

const remove = (bench: Bench, job: Job): Answer => {
  if (!/^(completed|failed)$/.test(progressOf(bench, job).status))
    return openaiError(400, null, "Only a completed or failed video can be deleted.");
  bench.jobs.forget(job);
  return json(200, { id: job.id, object: "video.deleted", deleted: true });
};

/** Handles a request below `/openai-video/v1`. */
export const handleOpenAIVideo: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  if (path === "/videos" && request.method === "POST") {
    const body = bodyOf(request);
    const model = typeof body?.model === "string" ? body.model : DEFAULTS.model;
    return takeIn(bench, wordsFor(body && wrongWith(body)), request, model, credential);
  }
  if (credential === undefined) return refusedByOpenAI(makeFault("401"));
  if (path === "/videos" && request.method === "GET") return list(bench, request);
  const [, id = "", below] = /^\/videos\/(\w+)(\/content)?$/.exec(path) ?? [];
  const job = bench.jobs.find(PROVIDER, id);
  if (!job) return notFound(id);
  if (request.method === "GET") return below === undefined ? poll(bench, job) : content(bench, job, request);
  if (request.method === "DELETE" && below === undefined) return remove(bench, job);
  return openaiError(405, null, `Not allowed to ${request.method} on /v1${path}.`);
};
