// Simulates PixVerse as documented: HTTP 200 with a code, and numeric states.
//
// A trace id is valid for one request.
import { randomInt } from "node:crypto";
import type { Json, JsonObject } from "../../domain/types.ts";
import { type Bench, type DialectResponses, noteOnce, type Problem, takeUpload, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, json, page, type Reply, type SimulatorRequest, text } from "../http-server.ts";
import { endsAtMs, type Job } from "../jobs.ts";
import { takeInOnce } from "./repeats.ts";

const PROVIDER = "pixverse";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The number of recent GET requests that are remembered by their trace ids. */
const MAX_TRACES = 10_000;
const MAX_REMEMBERED = 20_000;

const declared = (Resp: JsonObject | null, ErrCode = 0, ErrMsg = "Success"): Reply => json(200, { ErrCode, ErrMsg, Resp });
const failed = (code: number, message: string): Reply => declared(null, code, message);
const notFound = () => failed(500_008, "Requested data not found");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(400_012, "Invalid account");
    case "402":
      return failed(500_090, "Insufficient balance. Unable to generate video. Please top up your credits.");
    case "403":
      return failed(500_020, "User does not have permission for this operation");
    case "404":
      // The model is a parameter like any other.
      return failed(400_017, "Invalid parameter");
    case "429":
      return failed(500_044, "Reached the limit for concurrent generations.");
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = ([first]: readonly Problem[]): Reply => {
  if (first?.type === "missing" || first?.type === "json_invalid") return failed(400_011, "Empty parameter");
  if (first?.type === "string_type") return failed(400_013, "Invalid binding request: incorrect parameter type or value");
  return failed(400_017, "Invalid parameter");
};

/** The ids of uploaded images are numbers. */
const imageIds = new WeakMap<Bench["uploads"], Map<number, string>>();
const idsOf = ({ uploads }: Bench): Map<number, string> => {
  const ids = imageIds.get(uploads) ?? new Map<number, string>();
  imageIds.set(uploads, ids);
  return ids;
};
const FIRST_IMAGE_ID = 1_000_001;

/** `POST /image/upload`: the image as a part of a form. */
const uploadImage = (bench: Bench, request: SimulatorRequest): Reply => {
  const stored = bench.uploads.takePart(request, "image");
  if (!stored) return failed(400_011, "Empty parameter: image");
  if (!/^image\/(png|jpeg|webp)$/.test(stored.mime)) return failed(500_033, "Unsupported file format");
  const ids = idsOf(bench);
  const id = FIRST_IMAGE_ID + ids.size;
  ids.set(id, stored.id);
  return declared({ img_id: id, img_url: stored.url });
};

/** The link of an uploaded image; null if there is none with this id. */
const imageOf = (bench: Bench, origin: string, id: Json): Json =>
  (typeof id === "number" && bench.uploads.linkOf(origin, idsOf(bench).get(id) ?? "")) || null;

/** Images are ids of earlier uploads. */
const inputOf = (body: JsonObject): JsonObject => {
  const { prompt, negative_prompt, aspect_ratio, quality, duration, seed, style } = body;
  const said = { prompt, negative_prompt, aspect_ratio, resolution: quality, duration, seed, style };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as JsonObject;
};

/** Required fields of the two most common endpoints. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "video/text/generate": ["model", "prompt", "duration", "quality", "aspect_ratio"],
  "video/img/generate": ["model", "prompt", "duration", "quality", "img_id"],
};
/** The responses of an endpoint, for which a body without a required field has no input. */
const wordsFor = (bench: Bench, { origin }: SimulatorRequest, endpoint: string): DialectResponses => ({
  ...words,
  inputOf: (body) => {
    if (!(NEEDED[endpoint] ?? []).every((name) => body[name] !== undefined)) return undefined;
    const { img_id: id } = body;
    return { ...inputOf(body), ...(id === undefined ? {} : { image_url: imageOf(bench, origin, id) }) };
  },
});

const words: DialectResponses = {
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => String(randomInt(100_000_000_000_000, 380_000_000_000_000)),
  inputOf,
  markOf: (_, request) => request.headers["ai-trace-id"],
  accepted: (job) => declared({ video_id: Number(job.id) }),
  withoutId: () => declared({}),
  refused,
  refusal: () => failed(500_063, "The prompt contains sensitive content."),
  invalid,
};

const GENERATING = 5;
const SUCCESSFUL = 1;
const MODERATED = 7;
const FAILED = 8;
const DELETED = 6;

/** A number for each state: one for all moderation, none for the queue. */
const statusOf = (bench: Bench, job: Job): number => {
  const state = bench.jobs.state(job);
  if (state === "queued" || state === "running") return GENERATING;
  const { run } = job.faults;
  if (isFault(run, "refuse", "refuse-output", "withheld")) return MODERATED;
  if (isFault(run, "aborted")) return DELETED;
  return isFault(run, "fail", "fail-later", "input-unreachable", "invalid") ? FAILED : SUCCESSFUL;
};

const result = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const real = statusOf(bench, job);
  const trouble = troubleOf(job, real !== GENERATING);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && real !== GENERATING && job.polls <= numberOf(poll, "polls")) return page(502, "Bad Gateway");
  const says = { unknown: 9, "says-done": SUCCESSFUL, "says-running": GENERATING };
  const status = trouble ? says[trouble] : real;
  const [file] = status === SUCCESSFUL ? await bench.results.announce(job, request.origin) : [];
  if (file) await noteOnce(bench, job, "announced");
  const { prompt = "", negative_prompt = "", style = "", seed = job.plan.seed } = job.input;
  return declared({
    ...{ id: Number(job.id), status, prompt, negative_prompt, style, seed, resolution_ratio: 0 },
    create_time: new Date(job.acceptedAtMs).toISOString(),
    modify_time: new Date(Math.min(bench.clock.nowMs(), endsAtMs(job))).toISOString(),
    // All fields are present from the start, with empty values.
    ...{ url: file?.url ?? "", size: file?.bytes ?? 0, outputWidth: file?.width ?? 0, outputHeight: file?.height ?? 0 },
  });
};

const traces = new WeakMap<Bench["jobs"], Map<string, Answer>>();

/** Returns the stored response of a known trace id. A poll with a used trace id therefore receives an old state. */
const onceByTrace = async (bench: Bench, name: string, work: () => Promise<Answer>): Promise<Answer> => {
  const known = traces.get(bench.jobs) ?? new Map<string, Answer>();
  traces.set(bench.jobs, known);
  const before = known.get(name);
  if (before) return before;
  const answer = await work();
  // Only responses of the provider itself; those of a gateway are not stored.
  const isOwn = answer.kind === "reply" && answer.status === 200 && answer.headers["content-type"] === "application/json";
  if (isOwn && answer.body.length < MAX_REMEMBERED) known.set(name, answer);
  const [oldest] = known.keys();
  if (known.size > MAX_TRACES && oldest !== undefined) known.delete(oldest);
  return answer;
};

/** Handles a request below `/pixverse/openapi/v2`. */
export const handlePixVerse: DialectHandler = async (bench, request, path) => {
  const credential = request.headers["api-key"] || undefined;
  const trace = request.headers["ai-trace-id"];
  if (credential !== undefined && !UUID.test(trace ?? "")) return failed(400_011, "Empty parameter: Ai-trace-id");
  if (request.method === "POST" && /^\/video\/\w+\/generate$/.test(path)) {
    const endpoint = path.slice(1);
    // A used trace id returns its first job, regardless of the request.
    return takeInOnce(bench, wordsFor(bench, request, endpoint), request, endpoint, credential, trace, () => undefined);
  }
  if (request.method === "POST" && path === "/image/upload")
    return takeUpload(
      bench,
      PROVIDER,
      credential,
      () => refused(makeFault("401")),
      () => uploadImage(bench, request),
    );
  if (credential === undefined) return refused(makeFault("401"));
  const [, id] = /^\/video\/result\/(\d+)$/.exec(path) ?? [];
  if (id === undefined || request.method !== "GET") return text(404, "404 page not found");
  const job = bench.jobs.find(PROVIDER, id);
  return onceByTrace(bench, `${trace} ${id}`, async () => (job ? result(bench, job, request) : notFound()));
};
