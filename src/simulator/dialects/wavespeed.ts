// Simulates WaveSpeedAI as documented: predictions by model, results and the list.
//
// The list does not contain the inputs.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import {
  type Bench,
  credentialOf,
  type DialectResponses,
  listTroubleOf,
  noteOnce,
  type Problem,
  takeIn,
  takeUpload,
  troubleOf,
} from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, bodyObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { endsAtMs, type Job } from "../jobs.ts";

const PROVIDER = "wavespeed";
const BASE = `/${PROVIDER}/api/v3`;
/** How long predictions can be polled and listed. */
const KEPT_MS = 7 * 86_400_000;
const MAX_ON_A_PAGE = 100;

/** Every response has an envelope that repeats its status. */
const wrapped = (data: JsonObject): Reply => json(200, { code: 200, message: "success", data });
const failed = (status: number, message: string, headers: Record<string, string> = {}): Reply =>
  json(status, { code: status, message }, headers);
const notFound = () => failed(404, "prediction not found");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "invalid authentication");
    case "402":
      // Every account fault is a 403; there is no 402.
      return failed(403, "Insufficient credits, please top up your account");
    case "403":
      return failed(403, "this account may not use the model");
    case "404":
      return failed(404, "model not found");
    case "429":
      return failed(429, "too many requests", { "retry-after": String(numberOf(fault, "retry_after_s")) });
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = ([first]: readonly Problem[]): Reply => failed(400, `${first?.field ?? "body"}: ${first?.message}`);

/** The model's own fields, without those of the platform. */
const inputOf = ({ webhook_url: _, enable_sync_mode: __, enable_base64_output: ___, ...input }: JsonObject): JsonObject => input;

/** Times have nine decimals of a second. */
const timeOf = (ms: number): string => new Date(ms).toISOString().replace("Z", "000000Z");

/** Code and text of a failure. They are in the prediction, while the envelope has 200. */
const errorOf = ({ faults: { run } }: Job): { code: number; error: string } | undefined => {
  if (isFault(run, "refuse", "refuse-output")) return { code: 1200, error: "The content contains sensitive information." };
  if (isFault(run, "input-unreachable")) return { code: 1402, error: "Failed to download image from the provided URL." };
  if (isFault(run, "invalid")) return { code: 1401, error: "The parameter value is invalid." };
  if (isFault(run, "fail-later")) return { code: 5004, error: "The request timed out." };
  return isFault(run, "fail") ? { code: 5000, error: "An internal error occurred." } : undefined;
};

/** No status reports the position in the queue. */
const statusOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  if (state === "queued") return "created";
  if (state === "running") return "processing";
  if (isFault(job.faults.run, "aborted")) return ["cancelled", "timeout", "deleted"][job.plan.seed % 3] ?? "cancelled";
  return errorOf(job) ? "failed" : "completed";
};

const prediction = async (bench: Bench, job: Job, origin: string, status: string): Promise<JsonObject> => {
  const error = status === "failed" ? errorOf(job) : undefined;
  const outputs = status === "completed" ? (await bench.results.announce(job, origin)).map(({ url }) => url) : [];
  const ends = endsAtMs(job);
  return {
    ...{ id: job.id, model: job.endpoint, outputs, urls: { get: `${origin}${BASE}/predictions/${job.id}/result` } },
    has_nsfw_contents: outputs.map(() => isFault(job.faults.run, "withheld")),
    ...{ status, created_at: timeOf(job.acceptedAtMs), error: "" },
    timings: { inference: status === "completed" && Number.isFinite(ends) ? ends - job.acceptedAtMs : 0 },
    ...error,
  };
};

const words: DialectResponses = {
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => randomBytes(16).toString("hex"),
  inputOf,
  accepted: (job, { origin }) =>
    wrapped({
      ...{ id: job.id, model: job.endpoint, outputs: [], has_nsfw_contents: [], status: "created", error: "" },
      urls: { get: `${origin}${BASE}/predictions/${job.id}/result` },
      created_at: timeOf(job.acceptedAtMs),
    }),
  withoutId: () => wrapped({ status: "created", outputs: [], error: "" }),
  refused,
  invalid,
};

const result = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const real = statusOf(bench, job);
  const done = !["created", "processing"].includes(real);
  const trouble = troubleOf(job, done);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && done && job.polls <= numberOf(poll, "polls")) return page(502, "Bad Gateway");
  const says = { unknown: "warming_up", "says-done": "completed", "says-running": "processing" };
  const shown = await prediction(bench, job, request.origin, trouble ? says[trouble] : real);
  if (Array.isArray(shown.outputs) && shown.outputs.length > 0) await noteOnce(bench, job, "announced");
  return wrapped(shown);
};

/** `POST /predictions`: newest first, by page. The items do not contain the input. */
const list = async (bench: Bench, request: SimulatorRequest): Promise<Answer> => {
  const trouble = listTroubleOf(bench, PROVIDER);
  if (trouble) return trouble;
  const { page: at = 1, page_size: size = MAX_ON_A_PAGE, model, status, ...bounds } = bodyObject(request) ?? {};
  const isCount = (value: unknown, most: number): value is number =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
  if (!isCount(at, Number.MAX_SAFE_INTEGER)) return failed(400, "page must be a whole number from 1");
  if (!isCount(size, MAX_ON_A_PAGE)) return failed(400, "page_size must be from 1 to 100");
  const bound = (name: string, byDefault: number) => (typeof bounds[name] === "string" ? Date.parse(bounds[name]) : byDefault);
  const after = Math.max(bench.clock.nowMs() - KEPT_MS, bound("created_after", 0));
  const before = bound("created_before", Number.POSITIVE_INFINITY);
  const fitting = bench.jobs.of(PROVIDER).filter((job) => {
    if (job.acceptedAtMs < after || job.acceptedAtMs > before) return false;
    if (typeof model === "string" && job.endpoint !== model) return false;
    return typeof status !== "string" || statusOf(bench, job) === status;
  });
  const shown = fitting.toReversed().slice((at - 1) * size, at * size);
  const items = await Promise.all(
    shown.map(async (job) => {
      const { has_nsfw_contents: _, code: __, ...item } = await prediction(bench, job, request.origin, statusOf(bench, job));
      const ends = endsAtMs(job);
      return { ...item, executionTime: Number.isFinite(ends) ? ends - job.acceptedAtMs : 0 };
    }),
  );
  return wrapped({ page: at, total: fitting.length, items });
};

/** Handles a request below `/wavespeed/api/v3`. */
export const handleWaveSpeed: DialectHandler = async (bench, request, path) => {
  const credential = credentialOf(request, "Bearer");
  if (request.method === "POST" && path === "/media/upload/binary")
    return takeUpload(
      bench,
      PROVIDER,
      credential,
      () => refused(makeFault("401")),
      () => {
        const taken = bench.uploads.takePart(request, "file");
        if (!taken) return failed(400, "file is required");
        return wrapped({ type: taken.mime, download_url: taken.url, filename: "file", size: taken.bytes });
      },
    );
  if (request.method === "POST" && path !== "/predictions") return takeIn(bench, words, request, path.slice(1), credential);
  if (credential === undefined) return refused(makeFault("401"));
  if (path === "/predictions") return request.method === "POST" ? list(bench, request) : failed(405, "method not allowed");
  const [, id = ""] = /^\/predictions\/([0-9a-f]+)(?:\/result)?$/.exec(path) ?? [];
  const job = bench.jobs.find(PROVIDER, id);
  if (!job || job.acceptedAtMs + KEPT_MS < bench.clock.nowMs()) return notFound();
  return request.method === "GET" ? result(bench, job, request) : failed(405, "method not allowed");
};
