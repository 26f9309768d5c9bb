// Simulates Higgsfield as documented: requests by model, status and cancel.
//
// An idempotency key prevents a second job.
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, cancelJob, credentialOf, type DialectResponses, noteOnce, type Problem, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import type { Job } from "../jobs.ts";
import { takeInOnce } from "./repeats.ts";

const PROVIDER = "higgsfield";
/** How long requests can be polled. */
const KEPT_MS = 7 * 86_400_000;

const failed = (status: number, detail: unknown, headers: Record<string, string> = {}): Reply =>
  json(status, { detail }, headers);
const notFound = () => failed(404, "Request not found");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "Invalid credentials");
    case "402":
      // An empty balance is a 403, like every other missing permission.
      return failed(403, "Not enough credits");
    case "403":
      return failed(403, "This model is not available for your account");
    case "404":
      return failed(404, "Model not found");
    case "429":
      return failed(429, "Too many requests", { "retry-after": String(numberOf(fault, "retry_after_s")) });
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = (problems: readonly Problem[], input: JsonObject): Reply =>
  failed(
    422,
    problems.map(({ field, message, type }) => ({
      ...{ type, msg: message, input: field === null ? null : (input[field] ?? null) },
      loc: field === null ? ["body"] : ["body", field],
    })),
  );

/** A key consists of 1 to 255 visible ASCII characters. */
const KEY = /^[\x21-\x7e]{1,255}$/;

const addressesOf = (job: Job, origin: string): JsonObject => {
  const base = `${origin}/${PROVIDER}/requests/${job.id}`;
  return { request_id: job.id, status_url: `${base}/status`, cancel_url: `${base}/cancel` };
};

const words: DialectResponses = {
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => crypto.randomUUID(),
  inputOf: (body) => body,
  markOf: (_, request) => request.headers["idempotency-key"],
  accepted: (job, { origin }) => json(200, { status: "queued", ...addressesOf(job, origin) }),
  withoutId: () => json(200, { status: "queued" }),
  refused,
  invalid,
};

/** The status of the job in Higgsfield's terms; one status covers moderation of input and result. */
const statusOf = (bench: Bench, job: Job): string => {
  const state = bench.jobs.state(job);
  const { run } = job.faults;
  if (state === "queued") return "queued";
  if (state === "running") return "in_progress";
  if (state === "cancelled" || isFault(run, "aborted")) return "canceled";
  if (isFault(run, "refuse", "refuse-output", "withheld")) return "nsfw";
  return isFault(run, "fail", "fail-later", "input-unreachable", "invalid") ? "failed" : "completed";
};

const errorOf = (job: Job): string =>
  isFault(job.faults.run, "input-unreachable") ? "Could not read the input media" : "Generation failed";

const status = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const real = statusOf(bench, job);
  const done = real !== "queued" && real !== "in_progress";
  const trouble = troubleOf(job, done);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const { poll } = job.faults;
  if (isFault(poll, "result-5xx") && done && job.polls <= numberOf(poll, "polls")) return page(502, "Bad Gateway");
  const says = { unknown: "warming_up", "says-done": "completed", "says-running": "in_progress" };
  const shown = trouble ? says[trouble] : real;
  const files = shown === "completed" ? await bench.results.announce(job, request.origin) : [];
  const [clip] = files.filter(({ mime }) => mime.startsWith("video/"));
  const images = files.filter((file) => file !== clip).map(({ url }) => ({ url }));
  if (files.length > 0) await noteOnce(bench, job, "announced");
  return json(200, {
    ...{ status: shown, ...addressesOf(job, request.origin) },
    ...(shown === "failed" ? { error: errorOf(job) } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(clip ? { video: { url: clip.url } } : {}),
  });
};

/** The endpoint and the body must be equal, regardless of the order of members; lists and explicit nulls count. */
const mismatch = (endpoint: string) => (job: Job, input: JsonObject | undefined) =>
  job.endpoint === endpoint && isDeepStrictEqual(job.input, input)
    ? undefined
    : failed(422, "Idempotency-Key was already used with different request parameters");

/** Handles a request; the path starts with the name of the model. */
export const handleHiggsfield: DialectHandler = async (bench, request, path) => {
  const declared = credentialOf(request, "Key");
  // The credential has two parts: id and secret.
  const credential = declared !== undefined && /^[^:]+:[^:]+$/.test(declared) ? declared : undefined;
  const [, id, verb] = /^\/requests\/([\w-]+)\/(status|cancel)$/.exec(path) ?? [];
  if (id === undefined) {
    if (request.method !== "POST") return credential === undefined ? refused(makeFault("401")) : failed(404, "Not found");
    const key = request.headers["idempotency-key"];
    if (credential !== undefined && key !== undefined && !KEY.test(key))
      return failed(422, "Idempotency-Key must be 1 to 255 visible ASCII characters");
    const endpoint = path.slice(1);
    return takeInOnce(bench, words, request, endpoint, credential, key, mismatch(endpoint));
  }
  if (credential === undefined) return refused(makeFault("401"));
  const job = bench.jobs.find(PROVIDER, id);
  if (!job || job.acceptedAtMs + KEPT_MS < bench.clock.nowMs()) return notFound();
  if (verb === "status") return request.method === "GET" ? status(bench, job, request) : failed(405, "Method Not Allowed");
  if (request.method !== "POST") return failed(405, "Method Not Allowed");
  if (bench.jobs.state(job) !== "queued") return failed(400, "Only a queued request can be canceled");
  await cancelJob(bench, job);
  return json(202, {});
};
