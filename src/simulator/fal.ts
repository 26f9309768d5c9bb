// Simulates fal as documented: queue submission, status, result and cancel.

import {
  type Bench,
  cancelJob,
  credentialOf,
  type DialectResponses,
  noteOnce,
  takeIn,
  takeUpload,
  troubleOf,
} from "./accept-job.ts";
import { listFal } from "./fal-list.ts";
import { isNoPath } from "./fal-paths.ts";
import { falResult, invalid, refused, requestError } from "./fal-result.ts";
import { isFault, makeFault, numberOf } from "./faults.ts";
import { type Answer, bodyObject, json, page, type Reply, type SimulatorRequest } from "./http-server.ts";
import { endsAtMs, type Job, RESULT_RETENTION_MS } from "./jobs.ts";

/** Status and result addresses contain owner and app only, never the rest of the endpoint. */
const appOf = (endpoint: string) => endpoint.split("/").slice(0, 2).join("/");
const urlsOf = (job: Job, origin: string) => {
  const base = `${origin}/fal/${appOf(job.endpoint)}/requests/${job.id}`;
  return { response_url: base, status_url: `${base}/status`, cancel_url: `${base}/cancel` };
};

const words: DialectResponses = {
  provider: "fal",
  checksAtOnce: false,
  newId: () => crypto.randomUUID(),
  inputOf: (body) => body,
  accepted: (job, { origin }) =>
    json(
      200,
      { status: "IN_QUEUE", request_id: job.id, ...urlsOf(job, origin), queue_position: 0 },
      { "x-fal-request-id": job.id },
    ),
  withoutId: () => json(200, { status: "IN_QUEUE", queue_position: 0 }),
  refused,
  wrongWith: (endpoint) => (isNoPath(endpoint) ? makeFault("no-path") : undefined),
  invalid,
};

const status = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const state = bench.jobs.state(job);
  const finished = state === "done" || state === "cancelled";
  const trouble = troubleOf(job, finished);
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return requestError(404, "not_found", "Request not found");
  const common = { request_id: job.id, ...urlsOf(job, request.origin) };
  if (trouble === "unknown") return json(202, { status: "WARMING_UP", ...common });
  const done = (finished && trouble !== "says-running") || trouble === "says-done";
  if (!done && state === "queued") return json(202, { status: "IN_QUEUE", ...common, queue_position: 0 });
  if (!done) return json(202, { status: "IN_PROGRESS", ...common, logs: [] });
  // COMPLETED means only that the request ended. Request errors appear here; a model's refusal appears only in the result.
  const { run } = job.faults;
  const error = {
    ...(state === "cancelled" && { error: "Request was cancelled", error_type: "client_cancelled" }),
    ...(isFault(run, "aborted") && { error: "Runner disconnected", error_type: "runner_disconnected" }),
    ...(isFault(run, "fail") && { error: "Internal server error", error_type: "internal_server_error" }),
  };
  const inference = Math.max(0, (job.plan.totalMs ?? 0) - job.plan.queuedMs) / 1000;
  return json(200, { status: "COMPLETED", ...common, logs: [], metrics: { inference_time: inference }, ...error });
};

const result = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const { poll } = job.faults;
  const now = bench.clock.nowMs();
  if (isFault(poll, "forget") && job.polls >= numberOf(poll, "after_polls"))
    return requestError(404, "not_found", "Request not found");
  if (endsAtMs(job) > now) return json(400, { detail: "Request is still in progress" });
  if (endsAtMs(job) + RESULT_RETENTION_MS < now) return requestError(404, "not_found", "Request not found");
  if (isFault(poll, "result-5xx")) {
    const left = numberOf(poll, "polls");
    if (left > 0) {
      job.faults.poll = makeFault("result-5xx", { polls: left - 1 });
      return page(502, "Bad Gateway");
    }
  }
  const answer = await falResult(bench, job, request.origin);
  if (answer.status === 200) await noteOnce(bench, job, "announced");
  return answer;
};

/** Reserves the address of a file, for a PUT without a credential. */
const initiate = (bench: Bench, request: SimulatorRequest): Reply => {
  const { content_type: mime, file_name: name } = bodyObject(request) ?? {};
  if (typeof mime !== "string" || typeof name !== "string")
    return json(422, { detail: "content_type and file_name are required" });
  const { url } = bench.uploads.reserve(request.origin, mime);
  return json(200, { upload_url: url, file_url: url });
};

/** Handles a request below `/fal`. `path` is the part after it, e.g. `/bytedance/seedance-2.0/requests/ID/status`. */
export const answerFal = async (bench: Bench, request: SimulatorRequest, path: string): Promise<Answer> => {
  const credential = credentialOf(request, "Key");
  if (path === "/v1/models/requests/by-endpoint") return listFal(bench, request, credential);
  if (path === "/storage/upload/initiate" && request.method === "POST") {
    const refuse = () => refused(makeFault("401"));
    return takeUpload(bench, "fal", credential, refuse, () => initiate(bench, request));
  }
  const about = /^\/([^/]+\/[^/]+)\/requests\/([^/]+)(\/status|\/cancel)?$/.exec(path);
  if (about && request.method !== "POST") {
    if (credential === undefined) return refused(makeFault("401"));
    const [, app, id = "", verb] = about;
    const job = bench.jobs.find("fal", id);
    const known = job && appOf(job.endpoint) === app ? job : undefined;
    if (verb === "/cancel") {
      if (request.method !== "PUT") return json(405, { detail: "Method Not Allowed" }, { allow: "PUT" });
      if (!known) return json(404, { status: "NOT_FOUND" });
      if (endsAtMs(known) <= bench.clock.nowMs()) return json(400, { status: "ALREADY_COMPLETED" });
      await cancelJob(bench, known);
      return json(202, { status: "CANCELLATION_REQUESTED" });
    }
    if (request.method !== "GET") return json(405, { detail: "Method Not Allowed" }, { allow: "GET" });
    if (!known) return requestError(404, "not_found", "Request not found");
    return verb === "/status" ? status(bench, known, request) : result(bench, known, request);
  }
  const endpoint = path.slice(1).replace(/\/+$/, "");
  if (!/^[\w.-]+\/[\w.-]+(\/[\w.-]+)*$/.test(endpoint) || endpoint.includes("/requests/"))
    return requestError(404, "not_found", "Application not found");
  if (request.method !== "POST") return json(405, { detail: "Method Not Allowed" }, { allow: "POST" });
  return takeIn(bench, words, request, endpoint, credential);
};
