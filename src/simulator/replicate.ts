// Simulates Replicate as documented: predictions, polling, cancel and the list.
import { randomBytes } from "node:crypto";
import type { Json, JsonObject } from "../domain/types.ts";
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
} from "./accept-job.ts";
import { type Fault, isFault, makeFault, numberOf } from "./faults.ts";
import { type Answer, bodyObject, json, page, type Reply, type SimulatorRequest } from "./http-server.ts";
import { endsAtMs, type Job, RESULT_RETENTION_MS } from "./jobs.ts";

/** Uploaded files expire after a day. */
const FILE_KEPT_MS = 86_400_000;
const PER_PAGE = 100;
const MAX_HELD_S = 60;
const ALPHABET = "abcdefghjkmnpqrstvwxyz0123456789";

const problem = (
  status: number,
  title: string,
  detail: string,
  more: JsonObject = {},
  headers: Record<string, string> = {},
): Reply => ({
  ...json(status, { title, detail, status, ...more }),
  headers: { "content-type": "application/problem+json", ...headers },
});
const notFound = () => problem(404, "Not found", "The requested resource could not be found.");

const invalid = (problems: readonly Problem[]): Reply =>
  problem(
    422,
    "Input validation failed",
    problems.map(({ field, message }) => `- input${field === null ? "" : `.${field}`}: ${message}\n`).join(""),
    { invalid_fields: problems.map(({ field, message, type }) => ({ type, field: field ?? "input", description: message })) },
  );

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return problem(401, "Unauthenticated", "You did not pass a valid authentication token");
    case "402":
      return problem(
        402,
        "Insufficient credit",
        "You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.",
      );
    case "403":
      return problem(403, "Forbidden", "You do not have permission to run this model.");
    case "404":
      return notFound();
    case "429": {
      const seconds = numberOf(fault, "retry_after_s");
      const detail = `Request was throttled. Your rate limit resets in ~${seconds}s.`;
      return {
        ...json(429, { detail, status: 429 }),
        headers: { "content-type": "application/json", "retry-after": String(seconds) },
      };
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

/** The `error` of a finished job; only its text identifies a refusal. */
const errorOf = (job: Job): string | null => {
  const { run } = job.faults;
  const tail = job.id.slice(0, 10);
  if (isFault(run, "refuse"))
    return `The input or output was flagged as sensitive. Please try again with different inputs. (E005) (${tail})`;
  if (isFault(run, "refuse-output", "withheld")) return "NSFW content detected. Try running it again, or try a different prompt.";
  if (isFault(run, "input-unreachable")) return "Failed to download the input file: 404 Client Error: Not Found for url";
  if (isFault(run, "fail", "fail-later")) return `Prediction failed for an unknown reason. (E9243) (${tail})`;
  if (isFault(run, "invalid")) return "Input validation failed";
  return null;
};

/** The current status in Replicate's terms. */
const statusOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  if (state === "queued") return "starting";
  if (state === "running") return "processing";
  if (state === "cancelled") return "canceled";
  if (isFault(job.faults.run, "aborted")) return "aborted";
  return errorOf(job) === null ? "succeeded" : "failed";
};

const finished = (status: string) => !["starting", "processing"].includes(status);

const common = (job: Job, origin: string): JsonObject => {
  const base = `${origin}/replicate/v1/predictions/${job.id}`;
  return {
    id: job.id,
    model: job.endpoint,
    version: "hidden",
    input: job.input,
    logs: "",
    source: "api",
    data_removed: false,
    created_at: new Date(job.acceptedAtMs).toISOString(),
    urls: { get: base, cancel: `${base}/cancel`, web: `https://replicate.com/p/${job.id}` },
  };
};

/** The current prediction; `says` replaces its status if the script requires another. */
const prediction = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const real = statusOf(bench, job);
  const status = says ?? real;
  const endMs = endsAtMs(job);
  const removed = bench.clock.nowMs() > endMs + RESULT_RETENTION_MS;
  let output: Json = null;
  if (status === "succeeded" && real === "succeeded" && !removed) {
    const urls = (await bench.results.announce(job, origin)).map(({ url }) => url);
    // Models that accept a number of images return a list, the others a single URL.
    output = "num_outputs" in job.input || "num_images" in job.input || urls.length > 1 ? urls : (urls[0] ?? null);
  }
  const startMs = Math.min(endMs, job.acceptedAtMs + job.plan.queuedMs);
  return {
    ...common(job, origin),
    ...(removed && { input: {}, data_removed: true }),
    output,
    error: finished(status) ? errorOf(job) : null,
    status,
    ...(status !== "starting" && { started_at: new Date(startMs).toISOString() }),
    ...(finished(status) && Number.isFinite(endMs) && { completed_at: new Date(endMs).toISOString() }),
    ...(status === "succeeded" && real === "succeeded" && { metrics: { predict_time: (endMs - startMs) / 1000 } }),
  };
};

const words: DialectResponses = {
  provider: "replicate",
  checksAtOnce: true,
  newId: () => Array.from(randomBytes(26), (byte) => ALPHABET[byte % 32]).join(""),
  inputOf: (body) => {
    const { input } = body;
    return typeof input === "object" && input !== null && !Array.isArray(input) ? input : undefined;
  },
  accepted: (job, { origin }) => json(201, { ...common(job, origin), status: "starting", output: null, error: null }),
  withoutId: () => json(201, { status: "starting", output: null, error: null }),
  refused,
  invalid,
};

const poll = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const done = finished(statusOf(bench, job));
  const trouble = troubleOf(job, done);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const { poll: fault } = job.faults;
  if (isFault(fault, "result-5xx") && done && job.polls <= numberOf(fault, "polls")) return page(502, "Bad Gateway");
  const says = { unknown: "reviewing", "says-done": "succeeded", "says-running": "processing" } as const;
  const body = await prediction(bench, job, request.origin, trouble && says[trouble]);
  if (body.output !== null) await noteOnce(bench, job, "announced");
  return json(200, body);
};

/** `GET /v1/predictions?created_after&created_before&cursor`: 100 a page, newest first, `next` for the following page. */
const list = async (bench: Bench, request: SimulatorRequest): Promise<Answer> => {
  const { list: fault } = bench.script.choose({ provider: "replicate", endpoint: "", prompt: "" }, ["list"]);
  if (isFault(fault, "list-hang")) return { kind: "hang" };
  if (fault) return page(numberOf(fault, "status"), "Service Unavailable");
  const bound = (name: string, byDefault: number) => {
    const declared = request.query.get(name);
    return declared === null ? byDefault : Date.parse(declared);
  };
  const after = bound("created_after", Number.NEGATIVE_INFINITY);
  const before = bound("created_before", Number.POSITIVE_INFINITY);
  if (Number.isNaN(after) || Number.isNaN(before))
    return problem(400, "Bad request", "created_after and created_before are ISO 8601 times");

  const all = bench.jobs.of("replicate");
  // The cursor is a position in the order of acceptance, and the next page starts below it. New jobs therefore shift no page.
  const cursor = request.query.get("cursor");
  const from = cursor === null ? all.length : Number(Buffer.from(cursor, "base64url").toString("utf8"));
  if (!Number.isInteger(from) || from < 0 || from > all.length) return problem(400, "Bad request", "cursor is not valid");
  const found: { job: Job; at: number }[] = [];
  for (let at = from - 1; at >= 0 && found.length <= PER_PAGE; at--) {
    const job = all[at];
    if (!job || job.acceptedAtMs < after || job.acceptedAtMs > before) continue;
    if (isFault(job.faults.poll, "forget") && job.polls > 0) continue;
    found.push({ job, at });
  }
  const page100 = found.slice(0, PER_PAGE);
  const results: JsonObject[] = [];
  for (const { job } of page100) results.push(await prediction(bench, job, request.origin));
  const last = page100.at(-1);
  const next = new URL(`${request.origin}/replicate/v1/predictions?${request.query.toString()}`);
  if (last) next.searchParams.set("cursor", Buffer.from(String(last.at)).toString("base64url"));
  return json(200, { previous: null, next: found.length > PER_PAGE ? next.href : null, results });
};

/** `Prefer: wait`, or `wait=5`: the response is delayed until the prediction has ended, at most for this time. */
const held = async (bench: Bench, request: SimulatorRequest, taken: Answer): Promise<Answer> => {
  const [waits, seconds = MAX_HELD_S] = /^wait(?:=(\d+))?$/.exec(request.headers.prefer ?? "") ?? [];
  if (waits === undefined || taken.kind !== "reply" || taken.status !== 201 || taken.cutAt !== undefined) return taken;
  const { id } = JSON.parse(String(taken.body)) as { id?: string };
  const job = bench.jobs.find("replicate", id ?? "");
  if (!job) return taken;
  const ms = Math.min(endsAtMs(job) - bench.clock.nowMs(), Math.min(Number(seconds), MAX_HELD_S) * 1000);
  // A timer can fire a fraction of a millisecond early.
  await new Promise<void>((over) => bench.clock.after(ms + 1, over));
  return { ...taken, body: JSON.stringify(await prediction(bench, job, request.origin)) };
};

/** `POST /files`: the file and optional metadata as parts of a form. */
const createFile = (bench: Bench, request: SimulatorRequest): Reply => {
  const taken = bench.uploads.takePart(request, "content");
  if (!taken) return problem(400, "Bad request", "content is required");
  const { id, mime, bytes, url } = taken;
  const expires_at = new Date(bench.clock.nowMs() + FILE_KEPT_MS).toISOString();
  return json(201, { id, content_type: mime, size: bytes, metadata: {}, expires_at, urls: { get: url } });
};

/** Handles a request below `/replicate/v1`; `path` is the part after it, e.g. `/predictions/ID`. */
export const answerReplicate = async (bench: Bench, request: SimulatorRequest, path: string): Promise<Answer> => {
  const credential = credentialOf(request, "Bearer");
  const model = /^\/models\/([\w.-]+\/[\w.-]+)\/predictions$/.exec(path);
  if (model) {
    if (request.method !== "POST")
      return problem(405, "Method not allowed", `Method "${request.method}" not allowed.`, {}, { allow: "POST" });
    return held(bench, request, await takeIn(bench, words, request, model[1] ?? "", credential));
  }
  if (path === "/predictions" && request.method === "POST") {
    const version = bodyObject(request)?.version;
    const name = typeof version === "string" ? (version.split(":")[0] ?? "") : "";
    return held(bench, request, await takeIn(bench, words, request, name, credential));
  }
  if (path === "/files" && request.method === "POST")
    return takeUpload(
      bench,
      "replicate",
      credential,
      () => refused(makeFault("401")),
      () => createFile(bench, request),
    );
  if (credential === undefined) return refused(makeFault("401"));
  if (path === "/predictions" && request.method === "GET") return list(bench, request);
  const [, id = "", verb] = /^\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
  const job = bench.jobs.find("replicate", id);
  if (!job) return notFound();
  if (verb === undefined)
    return request.method === "GET"
      ? poll(bench, job, request)
      : problem(405, "Method not allowed", "Use GET.", {}, { allow: "GET" });
  if (request.method !== "POST") return problem(405, "Method not allowed", "Use POST.", {}, { allow: "POST" });
  if (endsAtMs(job) > bench.clock.nowMs()) await cancelJob(bench, job);
  return json(200, await prediction(bench, job, request.origin));
};
