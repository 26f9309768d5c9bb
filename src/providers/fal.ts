// Dialect of fal's queue: submission, status, result and the list of requests.
//
// Status and result are requested at the addresses that fal returns. The list of requests is per endpoint.
import { type Static, Type } from "@sinclair/typebox";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { Job, ResultFile } from "../domain/types.ts";
import { withBill } from "./dialect/result-metadata.ts";
import { readFalError } from "./fal-errors.ts";
import { earliestOf, matchInput } from "./list-match.ts";
import { endpointOf, inputOf, markerOf } from "./map-input.ts";
import { detailOf, GivenUrl, JobId, readNoJob, retryAfterMs, timeOf } from "./parse-response.ts";
import type { Adapter, AdapterContext, Candidate, PollOutcome, ProviderRequest, ProviderResponse } from "./port.ts";

/** The public queue. The list of requests is on another host; with a configured base URL it is below that URL. */
export const FAL_BASE_URL = "https://queue.fal.run";
const FAL_LIST_URL = "https://api.fal.ai/v1";
/** Hosts besides the base URL that may receive the credential: the list, and the documented alternative host of the queue. */
export const FAL_ORIGINS = [FAL_LIST_URL, "https://queue.falrun.com", "https://rest.fal.ai"] as const;
/** fal's file storage, for files that fal cannot download from this service. With a configured base URL it is below that URL. */
const FAL_STORAGE_URL = "https://rest.fal.ai";
/** The largest upload in one request; fal's own client splits larger files. */
const MAX_UPLOAD_BYTES = 90 * 1_048_576;
/** Longer than the longest job, so that a job that waits in the queue still finds its input. */
const UPLOAD_KEPT_S = 86_400;

export const FAL_KNOWN = {
  as_of: "2026-11-21",
  from: ["fal.ai/docs: queue, errors, platform APIs", "the types and source of @fal-ai/client 1.10"],
  not_verified: [
    "how soon the list of requests shows a submission: it is given 40 minutes before it proves anything",
    "that the list keeps the order of submission while requests are retried",
  ],
};

/**
 * fal abandons a request that has not started after this time (seconds), so a lost request cannot stay in the queue indefinitely.
 */
const START_WITHIN_S = 900;

const submitted = schemaCheck(
  Type.Object({
    request_id: JobId,
    status_url: Type.Optional(GivenUrl),
    response_url: Type.Optional(GivenUrl),
    cancel_url: Type.Optional(GivenUrl),
  }),
);
const stored = schemaCheck(Type.Object({ upload_url: GivenUrl, file_url: GivenUrl }));
const called = schemaCheck(Type.Object({ request_id: JobId }));
const status = schemaCheck(
  Type.Object({
    status: Type.String({ maxLength: 64 }),
    request_id: Type.Optional(Type.String()),
    error: Type.Optional(Type.Unknown()),
    error_type: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);
const file = schemaCheck(
  Type.Object({ url: GivenUrl, content_type: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])) }),
);
const result = schemaCheck(Type.Record(Type.String(), Type.Unknown()));
const ListPage = Type.Object({
  items: Type.Array(
    Type.Object({
      request_id: JobId,
      sent_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      json_input: Type.Optional(Type.Unknown()),
    }),
    { maxItems: 1000 },
  ),
  next_cursor: Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), Type.Null()])),
  has_more: Type.Optional(Type.Boolean()),
});
const listPage = schemaCheck(ListPage);

const pathOf = (endpoint: string) => endpoint.split("/").map(encodeURIComponent).join("/");

/**
 * Addresses of a job whose submission response was lost. fal requires its returned addresses; without them this follows fal's own
 * pattern: owner and app, never the path below the app.
 */
const urlsOf = (c: AdapterContext, jobId: string) => {
  const request = `${c.baseUrl}/${pathOf(c.endpoint.split("/").slice(0, 2).join("/"))}/requests/${jobId}`;
  return { poll: `${request}/status`, result: request, cancel: `${request}/cancel` };
};

const read = (url: string): ProviderRequest => ({ method: "GET", url, headers: { accept: "application/json" } });

/** Members of a result that contain files, in the order in which the result lists them. */
const FILE_MEMBERS = ["video", "videos", "image", "images", "audio", "audio_url", "audio_file"];

const filesOf = (json: Record<string, unknown>): ResultFile[] =>
  FILE_MEMBERS.flatMap((member) => json[member] ?? []).flatMap((entry) => {
    const found = typeof entry === "string" ? { url: entry } : entry;
    if (!file.Check(found)) return [];
    return [{ url: found.url, ...(found.content_type ? { mime: found.content_type } : {}) }];
  });

const unclear = (r: ProviderResponse, text: string): PollOutcome => ({
  kind: "unclear",
  detail: detailOf(r.status, text),
  ...retryAfterMs(r),
});

const readStatus = (r: ProviderResponse, job: Job): PollOutcome => {
  if (r.status === 404) return { kind: "gone" };
  // The status code is 202 while the request runs and 200 after it has finished. The `status` member of the body repeats this and
  // decides.
  if (r.status !== 200 && r.status !== 202) return unclear(r, readFalError(r).text);
  if (!status.Check(r.json)) return unclear(r, "no status that can be read");
  const text = r.json;
  if (text.request_id !== undefined && text.request_id !== job.jobId) return unclear(r, "a status of another request");
  if (text.status === "IN_QUEUE" || text.status === "IN_PROGRESS")
    return { kind: "pending", seen: text.status, ...retryAfterMs(r) };
  if (text.status !== "COMPLETED") return unclear(r, `unknown status ${text.status}`);
  // Finished, which includes failed and cancelled: the HTTP status of the result decides.
  const error = text.error_type || (typeof text.error === "string" ? text.error : text.error ? "failed" : "");
  return error === "" ? { kind: "ask-result" } : { kind: "ask-result", error: detailOf(error) };
};

/**
 * The queue accepts any path below a known app and reports it as completed at once. Only the result reports that the path does
 * not exist.
 */
const isNoPath = (r: ProviderResponse): boolean => /^path \S{1,400} not found/i.test(readFalError(r).text);

/** Members that report that a model's safety filter replaced an image with a blank. */
const FLAGS = ["has_nsfw_concepts", "has_nsfw_concept", "has_nsfw_content", "nsfw_content_detected"];
const isWithheld = (json: Record<string, unknown>): boolean =>
  FLAGS.some((name) => Object.hasOwn(json, name) && [json[name]].flat().some((flag) => flag === true));

const readResult = (r: ProviderResponse): PollOutcome => {
  if (r.status === 404 && isNoPath(r))
    return { kind: "failed", failure: { class: "config_fault", detail: detailOf(r.status, readFalError(r).text) } };
  if (r.status === 404) return { kind: "gone" };
  if (r.status === 410) return { kind: "failed", failure: { class: "result_expired", detail: detailOf(r.status) } };
  if (r.status === 200) {
    if (!result.Check(r.json)) return unclear(r, "no result that can be read");
    if (isWithheld(r.json))
      return { kind: "failed", failure: { class: "refused_output", detail: "its safety filter has flagged what it made" } };
    const results = filesOf(r.json);
    if (results.length > 0) return { kind: "announced", results };
    return { kind: "failed", failure: { class: "result_unreadable", detail: "the result names no file" } };
  }
  const error = readFalError(r);
  if (r.status === 400 && /still in progress/i.test(error.text)) return { kind: "pending", seen: "IN_PROGRESS" };
  if (error.class) return { kind: "failed", failure: { class: error.class, detail: detailOf(r.status, error.text) } };
  // Credential, balance or rate limit: these statuses do not describe the job.
  if ([401, 402, 403, 408, 429].includes(r.status) || r.status < 400) return unclear(r, error.text);
  // A 5xx of a gateway resembles a 5xx of the model. Only a 5xx with an error type ends the job.
  if (r.status >= 500 && error.type === undefined) return unclear(r, error.text);
  const failed = r.status >= 500 ? "job_failed" : "invalid_for_route";
  return { kind: "failed", failure: { class: failed, detail: detailOf(r.status, error.text) } };
};

const sift = (c: AdapterContext, jobId: string, listed: unknown): Candidate[] => {
  const job = { jobId, urls: urlsOf(c, jobId) };
  const marker = markerOf(c);
  const members = typeof listed === "object" && listed !== null ? Object.entries(listed) : [];
  if (marker !== undefined && members.length > 0)
    return members.some(([key, value]) => key === marker && value === c.ref) ? [{ job, match: "certain" }] : [];
  const match = matchInput(inputOf(c), listed);
  return match === "no" ? [] : [{ job, match }];
};

/** The request for all requests of an endpoint since a time. */
const listRequest = (c: AdapterContext, fromMs: number, page: string | null): ProviderRequest => {
  const base = c.baseUrl === FAL_BASE_URL ? FAL_LIST_URL : `${c.baseUrl}/v1`;
  const query = new URLSearchParams({
    endpoint_id: endpointOf(c),
    // No end: fal does not document whether the range applies to the start or to the end of a request.
    start: new Date(fromMs).toISOString(),
    expand: "payloads",
    limit: "100",
    ...(page === null ? {} : { cursor: page }),
  });
  return read(`${base}/models/requests/by-endpoint?${query}`);
};
type Listed =
  | { kind: "list"; items: Static<typeof ListPage>["items"]; next: string | null }
  | { kind: "unclear"; detail: string };
const readList = (r: ProviderResponse): Listed => {
  if (r.status !== 200 || !listPage.Check(r.json)) return { kind: "unclear", detail: detailOf(r.status, readFalError(r).text) };
  const { items, next_cursor: next, has_more: more } = r.json;
  if (more === true && !next) return { kind: "unclear", detail: "the list has more pages but names no next page" };
  return { kind: "list", items, next: (more !== false && next) || null };
};

export const fal: Adapter = {
  id: "fal",
  recovery: "list_marker",
  findWindowMs: 86_400_000,
  // The list appears to contain only finished requests, so a running job is not on it. Absence is proof only after the longest
  // route time, when no such job can still run.
  findSettleMs: 2_400_000,
  pollEveryMs: [2_000, 5_000],
  pollLeastMs: 500,
  sendsCallbacks: true,
  // fal keeps a result for one hour after its end: start deadline, longest route time, and that hour.
  watchMs: 6_900_000,
  resultTtlMs: 3_600_000,

  auth: (secret) => ({ authorization: `Key ${secret}` }),
  uploads: [
    {
      ...{ as: "upload", mostBytes: MAX_UPLOAD_BYTES, keptMs: UPLOAD_KEPT_S * 1000 },
      request: ({ mime, name }, baseUrl) => ({
        method: "POST",
        url: `${baseUrl === FAL_BASE_URL ? FAL_STORAGE_URL : baseUrl}/storage/upload/initiate?storage_type=fal-cdn-v3`,
        headers: {
          "content-type": "application/json",
          // Without it, fal keeps the file.
          "x-fal-object-lifecycle": JSON.stringify({ expiration_duration_seconds: UPLOAD_KEPT_S }),
        },
        body: { content_type: mime, file_name: name },
      }),
      read: (r, { file, mime, name }) => {
        if (!stored.Check(r.json)) return undefined;
        const { file_url: value, upload_url: url } = r.json;
        const part = { field: null, name, mime, bytes: file };
        return { value, send: { method: "PUT", url, headers: { "content-type": mime }, file: part } };
      },
    },
  ],

  submit: (c) => ({
    method: "POST",
    url: `${c.baseUrl}/${pathOf(endpointOf(c))}${c.callbackUrl === undefined ? "" : `?${new URLSearchParams({ fal_webhook: c.callbackUrl })}`}`,
    headers: {
      "content-type": "application/json",
      // fal would retry a failed request up to ten times; genrouter decides about the next route.
      "x-fal-no-retry": "1",
      "x-fal-request-timeout": String(START_WITHIN_S),
    },
    body: inputOf(c),
  }),

  readCallback: (body) => (called.Check(body) ? { jobId: body.request_id } : undefined),
  readSubmit(r) {
    if (r.status >= 200 && r.status < 300 && submitted.Check(r.json)) {
      const { request_id: jobId, status_url: poll, response_url: result, cancel_url: cancel } = r.json;
      const urls = { ...(poll && { poll }), ...(result && { result }), ...(cancel && { cancel }) };
      return { kind: "accepted", job: { jobId, urls } };
    }
    const error = readFalError(r);
    const locked = r.status === 403 && /balance/i.test(error.text);
    return readNoJob(r, error.text, locked ? "balance" : error.class);
  },

  poll(job, c) {
    const url = job.urls?.poll ?? urlsOf(c, job.jobId).poll;
    return read(`${url}${url.includes("?") ? "&" : "?"}logs=0`);
  },
  readPoll: (r, job) => readStatus(r, job),
  result: (job, c) => read(job.urls?.result ?? urlsOf(c, job.jobId).result),
  readResult: (r) => withBill(readResult(r), () => Number(r.headers["x-fal-billable-units"]) > 0),
  cancel: (job, c) => ({ method: "PUT", url: job.urls?.cancel ?? urlsOf(c, job.jobId).cancel, headers: {} }),

  find: (c, sentAtMs, page) => listRequest(c, earliestOf(c, sentAtMs), page),
  list: listRequest,
  readListPage(r, c, sinceMs) {
    const read = readList(r);
    if (read.kind === "unclear") return read;
    const marker = markerOf(c);
    const markIn = (input: unknown): string[] => {
      const word =
        marker !== undefined && typeof input === "object" && input !== null
          ? Object.getOwnPropertyDescriptor(input, marker)?.value
          : undefined;
      return typeof word === "string" ? [word] : [];
    };
    const jobs = read.items
      .map((item) => ({ jobId: item.request_id, madeAtMs: timeOf(item.sent_at) ?? null, marks: markIn(item.json_input) }))
      .filter(({ madeAtMs }) => madeAtMs === null || madeAtMs >= sinceMs);
    return { kind: "page", jobs, next: read.next };
  },
  readFindPage(r, c, sentAtMs) {
    const read = readList(r);
    if (read.kind === "unclear") return read;
    const candidates = read.items
      .filter((item) => (timeOf(item.sent_at) ?? sentAtMs) >= earliestOf(c, sentAtMs))
      .flatMap((item) => sift(c, item.request_id, item.json_input));
    return { kind: "page", candidates, next: read.next };
  },
};
