// Simulates Kling's video tasks as documented.
//
// Tasks belong to a kind of work and are found by Kling's id or by ours. Each HTTP status has finer codes.
import { randomBytes } from "node:crypto";
import type { Json, JsonObject } from "../../domain/types.ts";
import {
  type Bench,
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
import { linkOrBase64 } from "../inline-media.ts";
import { endsAtMs, type Job } from "../jobs.ts";

const PATH = /^\/v1\/(videos\/(?:text2video|image2video|multi-image2video|omni-video|motion-control))(?:\/([^/]+))?$/;

const declared = (status: number, code: number, message: string, data?: Json, headers: Record<string, string> = {}): Reply =>
  json(status, { code, message, request_id: crypto.randomUUID(), ...(data === undefined ? {} : { data }) }, headers);
const done = (data: Json): Reply => declared(200, 0, "SUCCEED", data);
const notFound = (): Reply => declared(404, 1203, "The requested resource does not exist.");

/** Checks a token as far as possible without its secret: issuer, start and expiry. */
const tokenFault = (token: string | undefined, nowMs: number): Reply | undefined => {
  if (token === undefined) return declared(401, 1001, "Authorization is empty.");
  const [, claims = "", signature] = token.split(".");
  // A key that is not a token is accepted unchanged.
  if (signature === undefined) return undefined;
  let claimed: unknown;
  try {
    claimed = JSON.parse(Buffer.from(claims, "base64url").toString("utf8"));
  } catch {
    return declared(401, 1002, "Authorization is invalid.");
  }
  if (!isObject(claimed) || typeof claimed.iss !== "string" || signature === "")
    return declared(401, 1002, "Authorization is invalid.");
  const { exp, nbf } = claimed;
  if (Number(nbf) * 1000 > nowMs) return declared(401, 1003, "Authorization is not yet valid.");
  return Number(exp) * 1000 > nowMs ? undefined : declared(401, 1004, "Authorization has expired.");
};

/** An empty balance and a rate limit share a status; only the code distinguishes them. */
const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return declared(401, 1000, "Authentication failed.");
    case "402":
      return declared(429, 1102, "Account balance not enough");
    case "403":
      return declared(403, 1103, "The account has no permission for the requested resource.");
    case "404":
      return notFound();
    case "429": {
      const headers = { "retry-after": String(numberOf(fault, "retry_after_s")) };
      return declared(429, 1303, "parallel task over resource pack limit", undefined, headers);
    }
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = (problems: readonly Problem[]): Reply => {
  const [first] = problems;
  return declared(400, 1201, `${first?.field ?? "body"} is invalid: ${first?.message}`);
};

const MAX_PICTURE_MB = 10;
/** An image is a URL or plain base64, never a data URI. */
const pictureOf = (image: Json | undefined): Json => linkOrBase64(image, MAX_PICTURE_MB);

/** The input of a kind of work. Lengths are strings, and each kind has required images. */
const inputOf =
  (kind: string) =>
  (body: JsonObject): JsonObject => {
    const { prompt, negative_prompt, image, image_tail, image_list, duration, aspect_ratio, sound, mode } = body;
    const list = Array.isArray(image_list) ? image_list.map((part) => pictureOf(isObject(part) ? part.image : null)) : [];
    const isLacking = kind.endsWith("/image2video") ? image === undefined : kind.includes("/multi-image") && list.length === 0;
    return {
      ...(prompt === undefined ? {} : { prompt }),
      ...(negative_prompt === undefined ? {} : { negative_prompt }),
      ...(isLacking || list.includes(null) ? { image_url: null } : image === undefined ? {} : { image_url: pictureOf(image) }),
      ...(image_tail === undefined ? {} : { end_image_url: pictureOf(image_tail) }),
      ...(list.length > 0 ? { image_urls: list } : {}),
      duration: typeof duration === "string" || duration === undefined ? (duration ?? "5") : null,
      ...(aspect_ratio === undefined ? {} : { aspect_ratio }),
      resolution: mode === "pro" ? "1080p" : "720p",
      generate_audio: sound === "on",
    };
  };

const ownIdOf = (body: JsonObject): unknown => body.external_task_id;

/** Jobs by our id. The index is updated as jobs arrive, because thousands of jobs are looked up. */
const indexes = new WeakMap<Bench, { read: number; byOwnId: Map<string, Job> }>();
const byOwnId = (bench: Bench, id: string): Job | undefined => {
  const index = indexes.get(bench) ?? { read: 0, byOwnId: new Map<string, Job>() };
  indexes.set(bench, index);
  const jobs = bench.jobs.of("kling");
  for (const job of jobs.slice(index.read)) if (job.ref !== null) index.byOwnId.set(job.ref, job);
  index.read = jobs.length;
  return index.byOwnId.get(id);
};

const externalIdField = ({ ref }: Job): JsonObject => (ref === null ? {} : { external_task_id: ref });

const wordsOf = (kind: string): DialectResponses => ({
  provider: "kling",
  checksAtOnce: true,
  newId: () => String(8n * 10n ** 17n + (randomBytes(8).readBigUInt64BE() % 10n ** 17n)),
  inputOf: inputOf(kind),
  markOf: ownIdOf,
  accepted: (job) =>
    done({
      ...{ task_id: job.id, task_status: "submitted", task_info: externalIdField(job) },
      ...{ created_at: job.acceptedAtMs, updated_at: job.acceptedAtMs },
    }),
  withoutId: () => done({ task_status: "submitted", task_info: {} }),
  refused,
  refusal: () => declared(400, 1301, "The request failed the content security policy"),
  invalid,
});

const submit = async (bench: Bench, request: SimulatorRequest, kind: string, token: string | undefined): Promise<Answer> => {
  const words = wordsOf(kind);
  const fault = tokenFault(token, bench.clock.nowMs());
  if (fault) return takeIn(bench, { ...words, refused: () => fault }, request, kind, undefined);
  const ownId = ownIdOf(bodyObject(request) ?? {});
  // An id of ours that exists already is refused like any other invalid field.
  if (typeof ownId === "string" && byOwnId(bench, ownId)) {
    const taken = { field: "external_task_id", message: "it must be unique", type: "value_error" };
    return takeIn(bench, { ...words, inputOf: () => undefined, invalid: () => invalid([taken]) }, request, kind, token);
  }
  return takeIn(bench, words, request, kind, token);
};

/** The failure of a finished task. */
const failureOf = ({ faults: { run } }: Job): string | undefined => {
  if (isFault(run, "refuse", "refuse-output", "withheld")) return "Failure to pass the risk control system";
  if (isFault(run, "input-unreachable")) return "Image pixel is invalid";
  return isFault(run, "fail", "fail-later", "aborted") ? "generation error" : undefined;
};

const taskOf = async (bench: Bench, job: Job, origin: string, says?: string): Promise<JsonObject> => {
  const state = bench.jobs.state(job);
  const failure = failureOf(job);
  const ended = failure === undefined ? "succeed" : "failed";
  const status = says ?? { queued: "submitted", running: "processing", done: ended, cancelled: ended }[state];
  const files = status === "succeed" ? await bench.results.announce(job, origin) : [];
  const seconds = String((await bench.results.parsedRequestOf(job)).sketch.ms / 1000);
  return {
    ...{ task_id: job.id, task_status: status, task_status_msg: status === "failed" ? (failure ?? "") : "" },
    task_info: externalIdField(job),
    ...(status === "succeed"
      ? {
          task_result: { videos: files.map(({ url }, at) => ({ id: `${job.id}-${at + 1}`, url, duration: seconds })) },
          final_unit_deduction: "2",
        }
      : {}),
    watermark_info: { enabled: false },
    ...{ created_at: job.acceptedAtMs, updated_at: Math.min(bench.clock.nowMs(), endsAtMs(job)) },
  };
};

const shownJob = async (bench: Bench, job: Job, request: SimulatorRequest): Promise<Answer> => {
  const trouble = troubleOf(job, bench.jobs.state(job) === "done");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const says = { unknown: "reviewing", "says-done": "succeed", "says-running": "processing" };
  const task = await taskOf(bench, job, request.origin, trouble && says[trouble]);
  if (task.task_status === "succeed") await noteOnce(bench, job, "announced");
  return done(task);
};

/** `?pageNum=1..1000&pageSize=1..500`: tasks of one kind, newest first. */
const list = async (bench: Bench, request: SimulatorRequest, kind: string): Promise<Answer> => {
  const trouble = listTroubleOf(bench, "kling");
  if (trouble) return trouble;
  const [number, size] = [Number(request.query.get("pageNum") ?? 1), Number(request.query.get("pageSize") ?? 30)];
  if (!(number >= 1 && number <= 1000)) return declared(400, 1201, "pageNum is invalid: a number from 1 to 1000");
  if (!(size >= 1 && size <= 500)) return declared(400, 1201, "pageSize is invalid: a number from 1 to 500");
  const jobs = bench.jobs.of("kling").filter(({ endpoint }) => endpoint === kind);
  const shown = jobs.toReversed().slice((number - 1) * size, number * size);
  return done(await Promise.all(shown.map((job) => taskOf(bench, job, request.origin))));
};

/** Handles a request to the service; `path` begins with `/v1`. */
export const handleKling: DialectHandler = async (bench, request, path) => {
  const [, kind, id] = PATH.exec(path) ?? [];
  const token = credentialOf(request, "Bearer");
  if (kind === undefined) return declared(404, 1202, "The requested method is invalid.");
  if (id === undefined && request.method === "POST") return submit(bench, request, kind, token);
  const fault = tokenFault(token, bench.clock.nowMs());
  if (fault) return token === undefined ? refused(makeFault("401")) : fault;
  if (request.method !== "GET") return declared(404, 1202, "The requested method is invalid.");
  if (id === undefined) return list(bench, request, kind);
  const job = bench.jobs.find("kling", id) ?? byOwnId(bench, decodeURIComponent(id));
  // A task is known only under its own kind of work.
  return job?.endpoint === kind ? shownJob(bench, job, request) : notFound();
};
