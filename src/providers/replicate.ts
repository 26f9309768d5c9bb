// Dialect of Replicate: predictions, their statuses, failure texts and the list.
//
// A prediction runs a model or one version of it.
import { Type } from "@sinclair/typebox";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { FailureClass, ResultFile } from "../domain/types.ts";
import { earliestOf, matchInput } from "./list-match.ts";
import { endpointOf, inputOf } from "./map-input.ts";
import { detailOf, GivenUrl, JobId, readNoJob, retryAfterMs, timeOf } from "./parse-response.ts";
import type { Adapter, AdapterContext, Candidate, PollOutcome, ProviderRequest, ProviderResponse } from "./port.ts";

export const REPLICATE_BASE_URL = "https://api.replicate.com/v1";

export const REPLICATE_KNOWN = {
  as_of: "2026-11-21",
  from: ["replicate.com/docs: HTTP API, lifecycle, webhooks", "the types and source of replicate 1.4"],
  not_verified: ["how soon the list of predictions shows a submission: it is given two minutes before it proves anything"],
};

/**
 * Replicate cancels a prediction after this time. It is the longest route time, so no prediction outlives its attempt for long.
 */
const CANCEL_AFTER = "40m";
/** Replicate deletes uploaded files after a day. */
const UPLOAD_KEPT_MS = 86_400_000;
/** Replicate removes input, output and files this long after the end. */
const KEPT_MS = 3_600_000;
/** A submission whose response was lost was created within its own deadline; the rest is tolerance for clock differences. */
const CREATED_WITHIN_MS = 600_000;
const latestOf = (c: AdapterContext, sentAtMs: number): number => sentAtMs + CREATED_WITHIN_MS + (c.clockDoubtMs ?? 0);

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Optional(Type.Union([type, Type.Null()]));

/** The largest file that Replicate's storage accepts. */
const MAX_UPLOAD_BYTES = 100 * 1_048_576;
const stored = schemaCheck(Type.Object({ urls: Type.Object({ get: GivenUrl }) }));
const created = schemaCheck(Type.Object({ id: JobId }));
const prediction = schemaCheck(
  Type.Object({
    id: JobId,
    status: Type.String({ maxLength: 64 }),
    output: Type.Optional(Type.Unknown()),
    error: Type.Optional(Type.Unknown()),
    data_removed: Nullable(Type.Boolean()),
    completed_at: Nullable(Type.String()),
  }),
);
const fault = schemaCheck(Type.Object({ title: Type.Optional(Type.String()), detail: Type.Optional(Type.Unknown()) }));
const listPage = schemaCheck(
  Type.Object({
    results: Type.Array(
      Type.Object({
        id: JobId,
        model: Nullable(Type.String()),
        input: Type.Optional(Type.Unknown()),
        created_at: Nullable(Type.String()),
        data_removed: Nullable(Type.Boolean()),
      }),
      { maxItems: 1000 },
    ),
    next: Nullable(GivenUrl),
  }),
);
const url = schemaCheck(GivenUrl);

/**
 * Replicate reports the reason of a failure only as text. The first row whose patterns all match decides; a text that names both
 * sides counts as the input. No pattern repeats without a bound, because the text is untrusted and can be long.
 */
const FAILURE_TEXTS: readonly (readonly [patterns: readonly RegExp[], FailureClass])[] = [
  [[/\(E005\)|flagged as sensitive/i], "refused_input"],
  [
    [/\b(input|prompt|input image|request)s? (was|were|is|are|has been|have been) (flagged|rejected|blocked|moderated)/i],
    "refused_input",
  ],
  [[/failed to (download|fetch|load)\b/i, /\b(input|image|video|audio|file|url)/i], "input_unreachable"],
  [[/nsfw|safety (checker|filter)|responsible ai|content (was|is|has been) filtered|filtered out/i], "refused_output"],
  [
    [
      /\b(output|generated (image|video|content|media|result)|image|video|result)s? (was|were|is|are|has been|have been) (flagged|rejected|blocked|moderated|filtered|withheld)/i,
    ],
    "refused_output",
  ],
  [[/content (policy|policies|moderation)|usage polic|safety system/i], "refused_input"],
];

const classOfText = (text: string): FailureClass =>
  FAILURE_TEXTS.find(([patterns]) => patterns.every((pattern) => pattern.test(text)))?.[1] ?? "job_failed";

/** At most this many characters of a provider's text are read. */
const MAX_READ = 2_000;
const textOf = (value: unknown): string =>
  (typeof value === "string" ? value : value == null ? "" : JSON.stringify(value)).slice(0, MAX_READ);

const faultText = (r: ProviderResponse): string => {
  if (!fault.Check(r.json)) return r.json === undefined ? r.text.slice(0, 300) : "";
  return [r.json.title?.slice(0, MAX_READ), textOf(r.json.detail)].filter(Boolean).join(" ");
};

const read = (address: string): ProviderRequest => ({ method: "GET", url: address, headers: { accept: "application/json" } });

/** `owner/name` runs a model; `owner/name:version` runs one version of it. */
const partsOf = (c: AdapterContext) => {
  const [model = "", version] = endpointOf(c).split(":");
  return { model, version };
};

/** Accepts a URL, a list of URLs, or an object whose members are either. */
const filesOf = (output: unknown, expiresAtMs: number | undefined): ResultFile[] => {
  if (url.Check(output)) return [{ url: output, ...(expiresAtMs === undefined ? {} : { expiresAtMs }) }];
  if (Array.isArray(output))
    return output.slice(0, 100).flatMap((entry) => (url.Check(entry) ? filesOf(entry, expiresAtMs) : []));
  if (typeof output !== "object" || output === null) return [];
  return Object.values(output).flatMap((entry) =>
    typeof entry === "object" && !Array.isArray(entry) ? [] : filesOf(entry, expiresAtMs),
  );
};

const unclear = (r: ProviderResponse, text: string): PollOutcome => ({
  kind: "unclear",
  detail: detailOf(r.status, text),
  ...retryAfterMs(r),
});

const failed = (failureClass: FailureClass, detail: string): PollOutcome => ({
  kind: "failed",
  failure: { class: failureClass, detail: detailOf(detail) },
});

const readPrediction = (r: ProviderResponse, jobId: string): PollOutcome => {
  if (r.status === 404) return { kind: "gone" };
  if (r.status !== 200) return unclear(r, faultText(r));
  if (!prediction.Check(r.json)) return unclear(r, "no prediction that can be read");
  const { id, status, output, error, data_removed: removed, completed_at: completedAt } = r.json;
  if (id !== jobId) return unclear(r, "another prediction");
  switch (status) {
    case "starting":
    case "processing":
      return { kind: "pending", seen: status, ...retryAfterMs(r) };
    case "succeeded": {
      const endedAtMs = timeOf(completedAt);
      const results = filesOf(output, endedAtMs === undefined ? undefined : endedAtMs + KEPT_MS);
      if (results.length > 0) return { kind: "announced", results };
      return removed === true
        ? failed("result_expired", "the output was removed")
        : failed("result_unreadable", "the output names no file");
    }
    case "failed":
      return failed(classOfText(textOf(error)), textOf(error) || status);
    case "canceled":
    case "aborted":
      return failed("job_failed", `${status} ${textOf(error)}`);
    default:
      return unclear(r, `unknown status ${status}`);
  }
};

export const replicate: Adapter = {
  id: "replicate",
  recovery: "list_match",
  findWindowMs: KEPT_MS,
  findSettleMs: 120_000,
  pollEveryMs: [2_000, 5_000],
  pollLeastMs: 500,
  sendsCallbacks: true,
  watchMs: 2_400_000 + KEPT_MS,
  resultTtlMs: KEPT_MS,

  auth: (secret) => ({ authorization: `Bearer ${secret}` }),
  uploads: [
    {
      ...{ as: "upload", mostBytes: MAX_UPLOAD_BYTES, keptMs: UPLOAD_KEPT_MS },
      request: ({ file, mime, name }, baseUrl) => ({
        ...{ method: "POST", url: `${baseUrl}/files`, headers: {}, form: {} },
        file: { field: "content", name, mime, bytes: file },
      }),
      read: (r) => (stored.Check(r.json) ? { value: r.json.urls.get } : undefined),
    },
  ],

  submit(c) {
    const { model, version } = partsOf(c);
    const path =
      version === undefined ? `models/${model.split("/").map(encodeURIComponent).join("/")}/predictions` : "predictions";
    return {
      method: "POST",
      url: `${c.baseUrl}/${path}`,
      headers: { "content-type": "application/json", "cancel-after": CANCEL_AFTER },
      body: {
        ...(version === undefined ? {} : { version }),
        input: inputOf(c),
        // The start event is requested as well: for a submission whose response was lost it proves that a job exists.
        ...(c.callbackUrl === undefined ? {} : { webhook: c.callbackUrl, webhook_events_filter: ["start", "completed"] }),
      },
    };
  },

  readSubmit(r) {
    if (r.status >= 200 && r.status < 300 && created.Check(r.json)) return { kind: "accepted", job: { jobId: r.json.id } };
    const text = faultText(r);
    const outcome = readNoJob(r, text);
    if (outcome.kind !== "rejected") return outcome;
    const { failure } = outcome;
    // Without the header, only the text contains the retry delay.
    const resetS = /resets? in ~?(\d{1,4})\s*s/i.exec(text)?.[1];
    if (failure.class === "rate_limited" && failure.retryAfterMs === undefined && resetS !== undefined)
      failure.retryAfterMs = Number(resetS) * 1000;
    if (failure.class === "invalid_for_route" && classOfText(text) !== "job_failed") failure.class = classOfText(text);
    return outcome;
  },

  readCallback: (body) => (created.Check(body) ? { jobId: body.id } : undefined),
  // Built from the id instead of the URLs of the response, which contain nothing further.
  poll: (job, c) => read(`${c.baseUrl}/predictions/${job.jobId}`),
  readPoll: (r, job) => readPrediction(r, job.jobId),
  cancel: (job, c) => ({ method: "POST", url: `${c.baseUrl}/predictions/${job.jobId}/cancel`, headers: {} }),

  find(c, sentAtMs, page) {
    if (page !== null) return read(page);
    const query = new URLSearchParams({
      created_after: new Date(earliestOf(c, sentAtMs)).toISOString(),
      created_before: new Date(latestOf(c, sentAtMs)).toISOString(),
    });
    return read(`${c.baseUrl}/predictions?${query}`);
  },
  list(c, sinceMs, page) {
    if (page !== null) return read(page);
    return read(`${c.baseUrl}/predictions?${new URLSearchParams({ created_after: new Date(sinceMs).toISOString() })}`);
  },
  readListPage(r, _, sinceMs) {
    if (r.status !== 200 || !listPage.Check(r.json)) return { kind: "unclear", detail: detailOf(r.status, faultText(r)) };
    const { results, next } = r.json;
    const jobs = results
      .map((entry) => ({ jobId: entry.id, madeAtMs: timeOf(entry.created_at) ?? null, marks: [] }))
      .filter(({ madeAtMs }) => madeAtMs === null || madeAtMs >= sinceMs);
    const oldestMs = timeOf(results.at(-1)?.created_at);
    return { kind: "page", jobs, next: oldestMs !== undefined && oldestMs < sinceMs ? null : (next ?? null) };
  },
  readFindPage(r, c, sentAtMs) {
    if (r.status !== 200 || !listPage.Check(r.json)) return { kind: "unclear", detail: detailOf(r.status, faultText(r)) };
    const { results, next } = r.json;
    const { model } = partsOf(c);
    const sent = inputOf(c);
    const earliestMs = earliestOf(c, sentAtMs);
    const candidates = results.flatMap((entry): Candidate[] => {
      const createdAtMs = timeOf(entry.created_at) ?? sentAtMs;
      if (createdAtMs < earliestMs || createdAtMs > latestOf(c, sentAtMs)) return [];
      const match = entry.data_removed === true ? "possible" : matchInput(sent, entry.input);
      // Replicate can report a model under another name than the submitted one. The same input under that name may be ours and
      // does not count as absent.
      if (typeof entry.model === "string" && entry.model !== model)
        return match === "equal" ? [{ job: { jobId: entry.id }, match: "possible" }] : [];
      return match === "no" ? [] : [{ job: { jobId: entry.id }, match }];
    });
    // Newest first: once a page reaches back past the submission, no later page can contain our job.
    const oldestMs = timeOf(results.at(-1)?.created_at);
    const past = oldestMs !== undefined && oldestMs < earliestMs;
    return { kind: "page", candidates, next: past ? null : (next ?? null) };
  },
};
