// Dialect case of Vidu: recorded responses from its documentation, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "824361287163904";
const VIDEO =
  "https://prod-ss-vidu.s3.amazonaws.com/infer/tasks/26/1121/10/824361287163904/creation-01/video.mp4?X-Amz-Expires=86400";

const error = (code: number, reason: string, message: string) => ({
  ...{ code, reason, message, metadata: { trace_id: "04e5c2fe159ff7c574acd0424e78c35f" } },
});
const task = (more: object) => ({ err_code: "", credits: 4, payload: "", creations: [], ...more });
const rejected = (failureClass: string) => ({ kind: "rejected", failure: { class: failureClass } });
const failed = (failureClass: string) => ({ kind: "failed", failure: { class: failureClass } });
const rejection = (name: string, status: number, reason: string, message: string, failureClass: string): Recorded => ({
  ...{ name, of: "submit", status, body: error(status, reason, message), outcome: rejected(failureClass) },
});
const ending = (name: string, code: string, failureClass: string): Recorded => ({
  ...{ name, of: "poll", job: ID, status: 200, body: task({ state: "failed", err_code: code }), outcome: failed(failureClass) },
});

const recorded: Recorded[] = [
  {
    ...{ name: "a created task", of: "submit", status: 200 },
    body: {
      ...{ task_id: ID, state: "created", model: "viduq3-pro", prompt: "a fox in snow", duration: 5, seed: 0 },
      ...{ resolution: "720p", aspect_ratio: "16:9", movement_amplitude: "auto", payload: "0k3v9x2m-1", credits: 4 },
      created_at: "2026-11-21T10:00:00.123456Z",
    },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  rejection("a refused submission", 400, "AuditSubmitIllegal", "submit is illegal", "refused_input"),
  rejection("a refused prompt", 400, "TaskPromptPolicyViolation", "prompt policy violation", "refused_input"),
  rejection("exhausted credits", 400, "CreditInsufficient", "insufficient credits", "balance"),
  rejection("an unavailable model", 400, "ModelUnavailable", "model unavailable", "config_fault"),
  rejection("an input image that it cannot fetch", 400, "ImageDownloadFailure", "image download failure", "input_unreachable"),
  rejection("a missing field", 400, "FieldLacking", "field is missing or empty: prompt", "invalid_for_route"),
  rejection("a request in progress", 400, "OperationInProcess", "operation in process, please retry later", "rate_limited"),
  rejection("a wrong key", 401, "Unauthorized", "unauthorized", "config_fault"),
  rejection("a key without permission", 403, "Forbidden", "forbidden", "config_fault"),
  rejection("too many concurrent tasks", 429, "QuotaExceeded", "quota exceeded", "rate_limited"),
  rejection("too many requests", 429, "TooManyRequests", "too many requests", "rate_limited"),
  {
    ...{ name: "an internal error", of: "submit", status: 500 },
    body: error(500, "InternalServiceFailure", "internal service failure"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a queued task", of: "poll", job: ID, status: 200 },
    body: task({ state: "queueing" }),
    outcome: { kind: "pending", seen: "queueing" },
  },
  {
    ...{ name: "a finished clip", of: "poll", job: ID, status: 200 },
    body: task({
      state: "success",
      creations: [{ id: "824361287163905", url: VIDEO, cover_url: "https://prod-ss-vidu.s3.amazonaws.com/infer/cover.jpeg" }],
    }),
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  ending("a prompt that was refused after acceptance", "AuditSubmitIllegal", "refused_input"),
  ending("a withheld clip", "CreationPolicyViolation", "refused_output"),
  ending("an input image that it could not fetch", "ImageDownloadFailure", "input_unreachable"),
  ending("a cancelled task", "UserCancelled", "job_failed"),
  {
    ...{ name: "an unknown task", of: "poll", job: ID, status: 404 },
    body: error(404, "TaskNotFound", "task not found"),
    outcome: { kind: "gone" },
  },
];

export const vidu: DialectCase[] = [
  {
    ...{ provider: "vidu", endpoint: "v2/text2video", recorded },
    // Its documentation does not state that the task list shows our reference.
    lost: "unclear",
    options: { values: { model: "viduq3-pro", sounds: false } },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
  },
];
