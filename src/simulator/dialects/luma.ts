// Simulates Luma's Dream Machine as documented: clips and images.
//
// Generations are available by id and as a list that repeats each request.
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
import type { Job } from "../jobs.ts";

const CREATE = /^\/generations(?:\/(?:video|image))?$/;
const ONE = /^\/generations\/([\w-]+)$/;
const LIST_LIMIT = 100;
const SHORTEST_PROMPT = 3;
const MAX_PROMPT = 5000;

const failed = (status: number, detail: Json, headers: Record<string, string> = {}): Reply => json(status, { detail }, headers);
const notFound = () => failed(404, "Generation not found");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "Invalid API key provided");
    case "402":
      return failed(400, "Insufficient credits");
    case "403":
      return failed(403, "Not allowed to use this model");
    case "404":
      return failed(404, "Not Found");
    case "429": {
      const headers = { "retry-after": String(numberOf(fault, "retry_after_s")) };
      return failed(429, "Too many requests, please try again later", headers);
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

/** A missing field has its own error text; a field of the wrong type is reported with its path. */
const invalid = (problems: readonly Problem[]): Reply => {
  const [first] = problems;
  if (first?.type === "missing") return failed(400, "Prompt is required");
  if (first?.type === "length") return failed(400, first.message);
  const details = problems.map(({ field, message, type }) => ({ type, loc: ["body", field ?? ""], msg: message, input: null }));
  return failed(422, details);
};

/** The URL of an image in `{ url }`; null if there is none. */
const urlOf = (value: Json | undefined): Json => (isObject(value) ? (value.url ?? null) : null);

/** A frame is an image URL, or the id of another generation, which has no URL here. */
const frameOf = (name: string, frame: Json | undefined): JsonObject => {
  if (frame === undefined || frame === null) return {};
  if (isObject(frame) && frame.type === "generation" && typeof frame.id === "string") return {};
  return { [name]: isObject(frame) && frame.type === "image" ? urlOf(frame) : null };
};

/** Lengths are strings such as `5s`. */
const secondsOf = (duration: Json): Json => {
  const [, seconds] = /^(\d+)s$/.exec(typeof duration === "string" ? duration : "") ?? [];
  return seconds === undefined ? null : Number(seconds);
};

const inputOf = (body: JsonObject): JsonObject | undefined => {
  const { model, prompt, aspect_ratio = "16:9", resolution, duration, keyframes, image_ref, modify_image_ref, format } = body;
  if (typeof model !== "string") return undefined;
  const frames = isObject(keyframes) ? keyframes : {};
  const images = Array.isArray(image_ref) ? image_ref.map(urlOf) : [];
  return {
    ...(prompt === undefined || prompt === null ? {} : { prompt }),
    aspect_ratio,
    ...(resolution === undefined ? {} : { resolution }),
    ...(duration === undefined ? {} : { duration: secondsOf(duration) }),
    ...frameOf("image_url", frames.frame0),
    ...frameOf("end_image_url", frames.frame1),
    ...(modify_image_ref === undefined ? {} : { image_url: urlOf(modify_image_ref) }),
    ...(images.length > 0 ? { image_urls: images } : {}),
    ...(format === undefined ? {} : { output_format: format }),
  };
};

const kindOf = (job: Job): string => (job.endpoint.endsWith("/image") ? "image" : "video");

/** The request of each generation as the client sent it. A generation of a former process returns the input from the log. */
const requests = new WeakMap<Job, JsonObject>();

const generationOf = async (bench: Bench, job: Job, origin: string, state: string): Promise<JsonObject> => {
  const request = requests.get(job) ?? job.input;
  const kind = kindOf(job);
  const [file] = state === "completed" ? await bench.results.announce(job, origin) : [];
  return {
    ...{ id: job.id, generation_type: kind, state, failure_reason: state === "failed" ? (reasonOf(job) ?? null) : null },
    created_at: new Date(job.acceptedAtMs).toISOString(),
    assets: file ? { [kind]: file.url } : {},
    ...(request.model === undefined ? {} : { model: request.model }),
    request: { generation_type: kind, ...request },
  };
};

/** The failure of a generation, with the texts of the documented error list, which contains none for a withheld result. */
const reasonOf = ({ faults: { run }, plan }: Job): string | undefined => {
  if (isFault(run, "refuse"))
    return ["Contains blacklisted words", "Advanced prompt moderation failed"][plan.seed % 2] ?? "Frame moderation failed";
  if (isFault(run, "refuse-output", "withheld")) return "Frame moderation failed";
  if (isFault(run, "input-unreachable")) return "Failed to read user input frames";
  return isFault(run, "fail", "fail-later", "aborted") ? "Job failed" : undefined;
};

const wordsOf = (bench: Bench, request: JsonObject): DialectResponses => ({
  provider: "luma",
  checksAtOnce: true,
  newId: () => crypto.randomUUID(),
  inputOf,
  markOf: (body) => body.callback_url,
  accepted: async (job, { origin }) => {
    requests.set(job, request);
    return json(201, await generationOf(bench, job, origin, "queued"));
  },
  withoutId: () => json(201, { state: "queued", failure_reason: null, assets: {} }),
  refused,
  invalid,
});

const submit = (
  bench: Bench,
  request: SimulatorRequest,
  path: string,
  credential: string | undefined,
  body: JsonObject,
): Promise<Answer> => {
  const words = wordsOf(bench, body);
  const length = typeof body.prompt === "string" ? body.prompt.length : SHORTEST_PROMPT;
  const [what, bound] = length < SHORTEST_PROMPT ? ["short, minimum", SHORTEST_PROMPT] : ["long, maximum", MAX_PROMPT];
  const message = `Prompt is too ${what} length is ${bound} characters`;
  const isUnfit = length < SHORTEST_PROMPT || length > MAX_PROMPT;
  const unfit = () => invalid([{ field: "prompt", message, type: "length" }]);
  const endpoint = path === "/generations" ? "generations/video" : path.slice(1);
  return takeIn(bench, isUnfit ? { ...words, inputOf: () => undefined, invalid: unfit } : words, request, endpoint, credential);
};

const stateOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  if (state === "queued") return "queued";
  if (state === "running") return "dreaming";
  return reasonOf(job) === undefined ? "completed" : "failed";
};

const shownJob = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const trouble = troubleOf(job, bench.jobs.state(job) === "done");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const says = { unknown: "upscaling", "says-done": "completed", "says-running": "dreaming" };
  const state = trouble === undefined ? stateOf(bench, job) : says[trouble];
  const generation = await generationOf(bench, job, request.origin, state);
  if (state === "completed") await noteOnce(bench, job, "announced");
  return json(200, generation);
};

/** `?limit&offset`: newest first. */
const list = async (bench: Bench, request: SimulatorRequest): Promise<Answer> => {
  const trouble = listTroubleOf(bench, "luma");
  if (trouble) return trouble;
  const [limit, offset] = [Number(request.query.get("limit") ?? LIST_LIMIT), Number(request.query.get("offset") ?? 0)];
  if (!(limit >= 1 && offset >= 0))
    return invalid([{ field: "limit", message: "Input should be a valid integer", type: "int_parsing" }]);
  const jobs = bench.jobs.of("luma").filter((job) => bench.jobs.state(job) !== "cancelled");
  const shown = jobs.toReversed().slice(offset, offset + limit);
  const generations = await Promise.all(shown.map((job) => generationOf(bench, job, request.origin, stateOf(bench, job))));
  return json(200, { has_more: offset + limit < jobs.length, count: generations.length, limit, offset, generations });
};

/** Handles a request below `/dream-machine/v1`. */
export const handleLuma: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  if (CREATE.test(path) && request.method === "POST") return submit(bench, request, path, credential, bodyObject(request) ?? {});
  if (credential === undefined) return refused(makeFault("401"));
  if (path === "/generations" && request.method === "GET") return list(bench, request);
  const job = bench.jobs.find("luma", ONE.exec(path)?.[1] ?? "");
  if (!job || bench.jobs.state(job) === "cancelled") return notFound();
  if (request.method === "GET") return shownJob(bench, job, request);
  if (request.method !== "DELETE") return failed(405, "Method Not Allowed");
  // A deleted generation is removed, whether it has ended or not.
  if (bench.jobs.state(job) === "done") bench.jobs.forget(job);
  else await cancelJob(bench, job);
  return { kind: "reply", status: 204, headers: {}, body: "" };
};
