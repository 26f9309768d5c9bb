// Simulates Vidu as documented: one endpoint per kind of clip.
//
// Tasks can be polled, listed by page and, while they wait, cancelled.
import { randomBytes, randomInt } from "node:crypto";
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
import { type Answer, bodyObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import type { Job } from "../jobs.ts";

const LISTED_MS = 7 * 86_400_000;
const KINDS = /^\/ent\/v2\/(text2video|img2video|reference2video|start-end2video)$/;
const MAX_REFERENCES = 7;
const CREDITS = 4;

/** `code` repeats the status; `reason` distinguishes errors. */
const failed = (status: number, reason: string, message: string): Reply =>
  json(status, { code: status, reason, message, metadata: { trace_id: randomBytes(16).toString("hex") } });
const notFound = () => failed(404, "TaskNotFound", "task not found");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "Unauthorized", "unauthorized");
    case "402":
      return failed(400, "CreditInsufficient", "insufficient credits");
    case "403":
      return failed(403, "Forbidden", "forbidden");
    case "404":
      return failed(400, "ModelUnavailable", "model unavailable");
    case "429":
      return failed(429, "TooManyRequests", "too many requests");
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = ([first]: readonly Problem[], input: JsonObject): Reply => {
  const field = first?.field ?? "";
  if (field === "") return failed(400, "BadRequest", "bad request");
  if (first?.type === "missing" || input[field] === null)
    return failed(400, "FieldLacking", `field is missing or empty: ${field === "image_url" ? "images" : field}`);
  return failed(400, "FieldInvalid", `invalid field: ${field}`);
};

/** The images of a request in the common field names; its kind determines their number. */
const picturesOf = (kind: string, images: readonly Json[]): JsonObject => {
  const [first = null, last = null] = images;
  const isRight = {
    text2video: images.length === 0,
    img2video: images.length === 1,
    "start-end2video": images.length === 2,
    reference2video: images.length >= 1 && images.length <= MAX_REFERENCES,
  }[kind];
  if (!isRight) return { image_url: null };
  if (kind === "reference2video") return { image_urls: [...images] };
  return { ...(first === null ? {} : { image_url: first }), ...(last === null ? {} : { end_image_url: last }) };
};

/** A task's body in the common field names; null stands for a missing required value. */
const inputFor = (kind: string) => (body: JsonObject) => {
  const { model, prompt, images = [], duration, seed, resolution, aspect_ratio, audio } = body;
  if (typeof model !== "string" || !Array.isArray(images)) return undefined;
  const needsWords = kind === "text2video" || kind === "reference2video";
  const input: JsonObject = { model, ...picturesOf(kind, images), generate_audio: audio ?? false };
  if (prompt !== undefined || needsWords) input.prompt = prompt === undefined || prompt === "" ? null : prompt;
  if (duration !== undefined) input.duration = Number.isInteger(duration) ? duration : null;
  const declared = { seed, resolution, aspect_ratio };
  for (const [name, value] of Object.entries(declared)) if (value !== undefined) input[name] = value;
  return input;
};

const createdAt = (job: Job) => new Date(job.acceptedAtMs).toISOString();

const wordsFor = (kind: string): DialectResponses => ({
  provider: "vidu",
  checksAtOnce: true,
  newId: () => String(randomInt(100_000_000_000_000, 281_474_976_710_655)),
  inputOf: inputFor(kind),
  markOf: (body) => body.payload,
  accepted: (job, request) => {
    const { callback_url: _, ...echoed } = bodyObject(request) ?? {};
    const made = { task_id: job.id, state: "created", credits: CREDITS, created_at: createdAt(job) };
    return json(200, { movement_amplitude: "auto", off_peak: false, ...echoed, ...made });
  },
  withoutId: () => json(200, { state: "created" }),
  refused,
  invalid,
});

/** The error of a finished task. */
const errorOf = ({ faults: { run } }: Job): string => {
  if (isFault(run, "refuse")) return "AuditSubmitIllegal";
  if (isFault(run, "refuse-output", "withheld")) return "CreationPolicyViolation";
  if (isFault(run, "input-unreachable")) return "ImageDownloadFailure";
  if (isFault(run, "fail", "fail-later")) return "InternalServiceFailure";
  return isFault(run, "aborted") ? "UserCancelled" : "";
};

/** The state of a task; a cancelled one has failed. */
const stateOf = (bench: Bench, job: Job): { state: string; error: string } => {
  const state = bench.jobs.state(job);
  if (state === "cancelled") return { state: "failed", error: "UserCancelled" };
  if (state !== "done") return { state: state === "queued" ? "queueing" : "processing", error: "" };
  const error = errorOf(job);
  return { state: error === "" ? "success" : "failed", error };
};

const taskOf = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const { state: real, error } = stateOf(bench, job);
  const state = says ?? real;
  const files = state === "success" ? await bench.results.announce(job, origin) : [];
  const cover = `${origin}/files/${job.id}/cover.jpg`;
  const creations = files.map(({ url }, at) => ({ id: `${job.id}${at}`, url, cover_url: cover }));
  return { id: job.id, state, err_code: state === "failed" ? error : "", credits: CREDITS, creations };
};

const answerPoll = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const isDone = ["success", "failed"].includes(stateOf(bench, job).state);
  const trouble = troubleOf(job, isDone);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && isDone && job.polls <= numberOf(poll, "polls"))
    return failed(500, "InternalServiceFailure", "internal service failure");
  const says = { unknown: "scheduled", "says-done": "success", "says-running": "processing" };
  const task = await taskOf(bench, job, request.origin, trouble && says[trouble]);
  if (task.state === "success") await noteOnce(bench, job, "announced");
  return json(200, { ...task, payload: job.ref ?? "", bgm: false, off_peak: false });
};

/** Tasks of seven days, ten a page. The documentation does not list `payload` among the returned fields. */
const list = async (bench: Bench, request: SimulatorRequest): Promise<Answer> => {
  const trouble = listTroubleOf(bench, "vidu");
  if (trouble) return trouble;
  const most = Math.min(100, Number(request.query.get("pager.pagesz") ?? 10));
  const from = Number(request.query.get("pager.page_token") ?? Number(request.query.get("pager.page") ?? 0) * most);
  const [states, ids] = [request.query.getAll("states"), request.query.getAll("task_ids")];
  const sinceMs = bench.clock.nowMs() - LISTED_MS;
  const fitting = bench.jobs
    .of("vidu")
    .filter((job) => job.acceptedAtMs >= sinceMs && (ids.length === 0 || ids.includes(job.id)))
    .filter((job) => states.length === 0 || states.includes(stateOf(bench, job).state))
    .toReversed();
  const shown = fitting.slice(from, from + most).map(async (job) => {
    const { model = null, prompt = "", duration = 5, resolution = "720p", aspect_ratio = "16:9" } = job.input;
    const images = [job.input.image_url, job.input.end_image_url, job.input.image_urls].flat().filter((one) => one != null);
    const requested = { type: job.endpoint.slice("v2/".length), model, prompt, images, duration, resolution, aspect_ratio };
    return { ...(await taskOf(bench, job, request.origin)), ...requested, created_at: createdAt(job) };
  });
  const next = from + most < fitting.length ? String(from + most) : "";
  return json(200, { tasks: await Promise.all(shown), next_page_token: next });
};

/** Handles a request below Vidu's base path. */
export const handleVidu: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Token");
  const [, kind] = KINDS.exec(path) ?? [];
  if (kind !== undefined && request.method === "POST") return takeIn(bench, wordsFor(kind), request, `v2/${kind}`, credential);
  if (credential === undefined) return refused(makeFault("401"));
  if (path === "/ent/v2/tasks" && request.method === "GET") return list(bench, request);
  const [, id = "", verb = ""] = /^\/ent\/v2\/tasks\/(\d+)\/(creations|cancel)$/.exec(path) ?? [];
  const job = bench.jobs.find("vidu", id);
  if (verb === "") return failed(404, "NotFound", "not found");
  if (!job) return notFound();
  if (verb === "creations") return request.method === "GET" ? answerPoll(bench, job, request) : page(405, "Method Not Allowed");
  if (request.method !== "POST") return page(405, "Method Not Allowed");
  if (bodyObject(request)?.id !== id) return failed(400, "FieldLacking", "field is missing or empty: id");
  if (bench.jobs.state(job) !== "queued") return failed(400, "BadRequest", "task state is scheduled, can not cancel");
  await cancelJob(bench, job);
  return json(200, {});
};
