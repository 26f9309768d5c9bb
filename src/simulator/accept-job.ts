// Accepts a submission: checks, fault script, job and log line.
//
// The log line is on disk before the response is sent or the connection breaks.
import { createHash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { JsonObject } from "../domain/types.ts";
import { type CallbackSender, callbackUrlOf } from "./callbacks.ts";
import type { Script } from "./fault-script.ts";
import { type Fault, type Faults, isFault, makeFault, numberOf, ruleOf } from "./faults.ts";
import { type Answer, bodyObject, page, type Reply, type SimulatorRequest, text } from "./http-server.ts";
import type { JobResults } from "./job-results.ts";
import { type Job, type Jobs, type Provider, planJob } from "./jobs.ts";
import type { Log, Submission } from "./log.ts";
import type { KindOf } from "./parse-request.ts";
import { glance } from "./parse-request.ts";
import type { UploadStorage } from "./upload-storage.ts";

/** The dependencies of all simulated dialects. */
export type Bench = {
  clock: Clock;
  speed: number;
  seed: number;
  kindOf: KindOf;
  log: Log;
  jobs: Jobs;
  script: Script;
  results: JobResults;
  uploads: UploadStorage;
  callbacks: CallbackSender;
  /** Counts submissions across restarts. */
  next(): number;
};

/** A validation error for one field of an input. `type` uses fal's names. */
export type Problem = { field: string | null; message: string; type: string };

/** The responses of a dialect to a submission. */
export type DialectResponses = {
  provider: Provider;
  newId(): string;
  /** Parses the body as an object if it is not JSON; undefined if it cannot be read. */
  bodyOf?(request: SimulatorRequest): JsonObject | undefined;
  /** The model's input inside the body, with the field names of fal and Replicate; undefined if there is none. */
  inputOf(body: JsonObject): JsonObject | undefined;
  /** The client's reference, if it is neither in the input nor in a header that all dialects share. */
  markOf?(body: JsonObject, request: SimulatorRequest): unknown;
  /** Validation errors beyond the common ones: unknown field names and unsupported values. */
  complaints?(body: JsonObject): Problem[];
  /**
   * The response to an accepted submission. A synchronous provider returns the result at the end of the job's time (`whenDone`).
   */
  accepted(job: Job, request: SimulatorRequest): Answer | Promise<Answer>;
  /** A 2xx response without a job id. */
  withoutId(): Reply;
  refused(fault: Fault): Reply;
  invalid(problems: Problem[], input: JsonObject): Reply;
  /** The fault of every job at an endpoint. */
  wrongWith?(endpoint: string): Fault | undefined;
  /** The response to a refused prompt before any work; absent: the job is accepted and reports the refusal later. */
  refusal?(): Reply;
  /** True: the submission's response refuses an invalid input. False: the job is accepted, and its result is the refusal. */
  checksAtOnce: boolean;
};

const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");

/** The credential after `scheme` in the Authorization header; undefined if it is missing or empty. */
export const credentialOf = (request: SimulatorRequest, scheme: "Key" | "Bearer" | "Token"): string | undefined =>
  new RegExp(`^${scheme}\\s+(\\S+)$`, "i").exec(request.headers.authorization ?? "")?.[1];

const markOf = (
  { markOf: own }: DialectResponses,
  request: SimulatorRequest,
  body: JsonObject | undefined,
  input: JsonObject | undefined,
): string | null => {
  const mark =
    (body && own?.(body, request)) ??
    input?.end_user_id ??
    request.headers["idempotency-key"] ??
    request.headers["x-client-request-id"] ??
    request.headers["x-request-id"];
  return typeof mark === "string" && mark !== "" ? mark : null;
};

const LINKS = ["image_url", "end_image_url", "video_url", "audio_url", "image", "last_frame_image", "video"];
/** Fields that link to media: `image`, `video_url`, `reference_images`, `image_urls`; not `image_size`. */
const MEDIA = /(^|_)(image|video|audio)s?(_urls?)?$/;
const WORDS = ["prompt", "text", "negative_prompt", "resolution", "aspect_ratio"];

/** Validation errors of a model server for an input whose schema is unknown here: missing text, wrong types, invalid numbers. */
export const problemsOf = (input: JsonObject): Problem[] => {
  const problems: Problem[] = [];
  const media = Object.entries(input).some(
    ([name, value]) => MEDIA.test(name) && (typeof value === "string" || Array.isArray(value)),
  );
  if (input.prompt === undefined && input.text === undefined && !media)
    problems.push({ field: "prompt", message: "Field required", type: "missing" });
  for (const name of [...LINKS, ...WORDS])
    if (input[name] !== undefined && typeof input[name] !== "string")
      problems.push({ field: name, message: "Input should be a valid string", type: "string_type" });
  const { duration } = input;
  // Some models require "5", some 5, some "5s".
  const isLength = /^\d+(\.\d+)?s?$/.test(String(duration)) && Number.parseFloat(String(duration)) > 0;
  if (duration !== undefined && duration !== "auto" && duration !== -1 && !isLength)
    problems.push({ field: "duration", message: "Input should be a positive number of seconds", type: "value_error" });
  for (const name of ["num_images", "num_outputs"])
    if (input[name] !== undefined && !(Number.isInteger(input[name]) && Number(input[name]) >= 1 && Number(input[name]) <= 16))
      problems.push({ field: name, message: "Input should be a whole number from 1 to 16", type: "value_error" });
  return problems;
};

/** The response of a synchronous provider: sent at the end of the job's time, and never if the job never ends. */
export const whenDone = ({ plan: { totalMs } }: Job, reply: Reply): Answer =>
  totalMs === null ? { kind: "hang" } : { ...reply, delayMs: totalMs };

/** Applies `fault` to the response of an accepted submission. */
const distort = (accepted: Answer, fault: Fault | undefined, words: DialectResponses): Answer => {
  if (isFault(fault, "drop-after")) return { kind: "drop" };
  if (isFault(fault, "hang-after")) return { kind: "hang" };
  if (isFault(fault, "5xx-after")) return page(numberOf(fault, "status"), "Bad Gateway");
  if (isFault(fault, "rubbish")) return text(200, "<html><body>OK</body></html>", "text/html");
  if (isFault(fault, "no-id")) return words.withoutId();
  if (accepted.kind !== "reply") return accepted;
  if (isFault(fault, "cut")) return { ...accepted, cutAt: 12 };
  if (isFault(fault, "slow-answer")) return { ...accepted, delayMs: numberOf(fault, "ms") };
  return accepted;
};

const answerOf = (answer: Answer): Submission["answer"] =>
  answer.kind !== "reply" ? answer.kind : answer.cutAt !== undefined ? "cut" : answer.status;

/** Handles one submission to `endpoint`, from arrival to response. */
export const takeIn = async (
  bench: Bench,
  words: DialectResponses,
  query: SimulatorRequest,
  endpoint: string,
  credential: string | undefined,
): Promise<Answer> => {
  const body = (words.bodyOf ?? bodyObject)(query);
  const input = body && words.inputOf(body);
  const n = bench.next();
  const line = (answer: Answer, faults: Faults, job?: Job): Submission => ({
    type: "submission",
    at: new Date(job?.acceptedAtMs ?? bench.clock.nowMs()).toISOString(),
    provider: words.provider,
    endpoint,
    job_id: job?.id ?? null,
    ref: markOf(words, query, body, input),
    body_sha256: sha256(query.body),
    accepted: job !== undefined,
    key_hash: credential === undefined ? null : sha256(credential).slice(0, 16),
    input: input ?? null,
    faults,
    answer: answerOf(answer),
    ...(job && { plan: { queued_ms: job.plan.queuedMs, total_ms: job.plan.totalMs, seed: job.plan.seed } }),
  });
  const turnDown = async (answer: Answer, faults: Faults = {}) => {
    await bench.log.append(line(answer, faults));
    return answer;
  };

  if (credential === undefined) return turnDown(words.refused(makeFault("401")));
  if (!input)
    return turnDown(words.invalid([{ field: null, message: "Input should be a valid dictionary", type: "json_invalid" }], {}));
  const request = {
    provider: words.provider,
    endpoint,
    prompt: [input.prompt, input.text].filter((words) => typeof words === "string").join("\n"),
  };
  const faults = bench.script.choose(request, ["submit"]);
  const { submit } = faults;
  if (submit && !ruleOf(submit.name).accepts) {
    if (isFault(submit, "drop") || isFault(submit, "hang")) return turnDown({ kind: submit.name }, faults);
    if (isFault(submit, "invalid"))
      return turnDown(
        words.invalid([{ field: "prompt", message: "Input is not valid for this model", type: "value_error" }], input),
        faults,
      );
    return turnDown(words.refused(submit), faults);
  }
  const problems = [...((body && words.complaints?.(body)) ?? []), ...problemsOf(input)];
  if (problems.length > 0 && words.checksAtOnce) return turnDown(words.invalid(problems, input), faults);

  Object.assign(faults, bench.script.choose(request, ["run", "poll", "file", "kind", "transfer", "cancel"]));
  const always = words.wrongWith?.(endpoint);
  if (always) faults.run = always;
  if (words.refusal && isFault(faults.run, "refuse")) return turnDown(words.refusal(), faults);
  if (problems.length > 0) faults.run = makeFault("invalid", { problems });
  const seed = (bench.seed * 7919 + n) % 2_147_483_647;
  const job: Job = {
    id: words.newId(),
    provider: words.provider,
    endpoint,
    input,
    ref: markOf(words, query, body, input),
    acceptedAtMs: bench.clock.nowMs(),
    plan: planJob({ ...glance(endpoint, input, bench.kindOf), faults, seed }, bench.speed),
    faults,
    cancelledAtMs: null,
    polls: 0,
    fetches: 0,
    announced: false,
    fetched: false,
    received: null,
    inputs: null,
  };
  const answer = distort(await words.accepted(job, query), submit, words);
  await bench.log.append(line(answer, faults, job));
  bench.jobs.add(job);
  const callbackUrl = callbackUrlOf(query.query, body);
  if (callbackUrl !== undefined) bench.callbacks.later(job, callbackUrl);
  // Links are read now, because the files may be deleted before the result is downloaded.
  void bench.results.parsedRequestOf(job);
  void bench.results.receivedOf(job).then((received) => {
    job.received = received;
  });
  void bench.results.inputsOf(job).then((inputs) => {
    job.inputs = inputs;
  });
  return answer;
};

/** The effect of a scripted fault on the response to a poll; counts the poll. */
export type Trouble = Answer | "gone" | "unknown" | "says-done" | "says-running" | undefined;
export const troubleOf = (job: Job, done: boolean): Trouble => {
  job.polls += 1;
  const fault = job.faults.poll;
  if (!fault) return undefined;
  const early = job.polls <= numberOf(fault, "polls");
  switch (fault.name) {
    case "forget":
      return job.polls > numberOf(fault, "after_polls") ? "gone" : undefined;
    case "unknown-status":
      return early ? "unknown" : undefined;
    case "poll-5xx":
      return early ? page(Number(fault.status ?? 503), "Service Unavailable") : undefined;
    case "poll-429":
      return early
        ? {
            ...text(429, '{"detail":"Too many requests"}', "application/json"),
            headers: { "content-type": "application/json", "retry-after": "1" },
          }
        : undefined;
    case "poll-drop":
      return early ? { kind: "drop" } : undefined;
    case "poll-hang":
      return early ? { kind: "hang" } : undefined;
    case "poll-rubbish":
      return early ? text(200, "<html>down for a moment</html>", "text/html") : undefined;
    case "poll-huge":
      return text(
        200,
        JSON.stringify({ status: "IN_PROGRESS", logs: "x".repeat(numberOf(fault, "mb") * 1_048_576) }),
        "application/json",
      );
    case "early-done":
      return early && !done ? "says-done" : undefined;
    case "out-of-order":
      return job.polls > 1 && job.polls <= 1 + numberOf(fault, "polls") ? "says-running" : undefined;
    default:
      return undefined;
  }
};

/**
 * Handles an upload to a provider's storage, with the effect of a scripted fault. @param refused the provider's response to a
 * wrong credential
 */
export const takeUpload = (
  bench: Bench,
  provider: Provider,
  credential: string | undefined,
  refused: () => Reply,
  take: () => Reply,
): Answer => {
  if (credential === undefined) return refused();
  const { upload } = bench.script.choose({ provider, endpoint: "", prompt: "" }, ["upload"]);
  switch (upload?.name) {
    case "upload-401":
      return refused();
    case "upload-413":
      return page(413, "Request Entity Too Large");
    case "upload-5xx":
      return page(numberOf(upload, "status"), "Internal Server Error");
    case "upload-drop":
      return { kind: "drop" };
    case "upload-hang":
      return { kind: "hang" };
    case "upload-slow":
      return { ...take(), delayMs: numberOf(upload, "ms") };
    case "upload-cut":
      return { ...take(), cutAt: 12 };
    case "upload-no-id":
      take();
      return text(200, "{}", "application/json");
    default:
      return take();
  }
};

/** The effect of a scripted fault on a request for a provider's list. */
export const listTroubleOf = (bench: Bench, provider: Provider): Answer | undefined => {
  const { list } = bench.script.choose({ provider, endpoint: "", prompt: "" }, ["list"]);
  if (isFault(list, "list-hang")) return { kind: "hang" };
  return isFault(list, "list-5xx") ? page(numberOf(list, "status"), "Service Unavailable") : undefined;
};

/** Logs the first announcement of a job's result, or the first download of its file. */
export const noteOnce = async (bench: Bench, job: Job, type: "announced" | "fetched"): Promise<void> => {
  if (job[type]) return;
  job[type] = true;
  const at = new Date(bench.clock.nowMs()).toISOString();
  await bench.log.append({ type, at, provider: job.provider, job_id: job.id });
};

/** Cancels a running job. */
export const cancelJob = async (bench: Bench, job: Job): Promise<void> => {
  if (isFault(job.faults.cancel, "cancel-ignored")) return;
  job.cancelledAtMs = bench.clock.nowMs();
  await bench.log.append({
    type: "cancelled",
    at: new Date(job.cancelledAtMs).toISOString(),
    provider: job.provider,
    job_id: job.id,
  });
};
