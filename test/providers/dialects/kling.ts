// Dialect case of Kling: recorded responses from its API reference, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const REF = "0k3v9x2m-1";
const ID = "833446756021297176";
const VIDEO = "https://p1.a.kwimgs.com/output/video-001.mp4";
const POLL = `https://provider.example/base/v1/videos/text2video/${ID}`;
const frame = { request_id: "9984d27b-a408-4073-ae28-17ca6a13622d" };
const times = { created_at: 1722769557708, updated_at: 1722769560000 };
const info = { task_info: { external_task_id: REF } };

const error = (name: string, status: number, code: number, message: string, failureClass: string): Recorded => ({
  ...{ name, of: "submit", status },
  body: { code, message, ...frame },
  outcome: { kind: "rejected", failure: { class: failureClass } },
});
const failure = (name: string, task_status_msg: string, failureClass: string): Recorded => ({
  ...{ name, of: "poll", job: ID, status: 200 },
  // SUCCEED means that the task is known, not that it succeeded.
  body: {
    ...{ code: 0, message: "SUCCEED", ...frame },
    data: { task_id: ID, task_info: {}, task_result: {}, task_status: "failed", task_status_msg, ...times },
  },
  outcome: { kind: "failed", failure: { class: failureClass } },
});

const recorded: Recorded[] = [
  {
    ...{ name: "a created task", of: "submit", status: 200 },
    body: { code: 0, message: "SUCCEED", ...frame, data: { task_id: ID, task_status: "submitted", ...info, ...times } },
    outcome: { kind: "accepted", job: { jobId: ID, urls: { poll: POLL } } },
  },
  error("a refused prompt", 400, 1301, "The request failed the content security policy", "refused_input"),
  error("an invalid field", 400, 1201, "duration value '7' is invalid", "invalid_for_route"),
  error("an empty account", 429, 1102, "Account balance not enough", "balance"),
  error("an account in arrears", 429, 1101, "Account in arrears", "balance"),
  error("too many concurrent tasks", 429, 1303, "parallel task over resource pack limit", "rate_limited"),
  error("an IP address that is not allowed", 429, 1304, "IP is not in the whitelist", "config_fault"),
  error("an expired token", 401, 1004, "Authorization has expired", "config_fault"),
  error("a model without permission", 403, 1103, "no permission for the model", "config_fault"),
  error("an unknown model", 404, 1203, "model does not exist", "config_fault"),
  error(
    "a refused prompt reported with success status",
    200,
    1301,
    "The request failed the content security policy",
    "refused_input",
  ),
  {
    ...{ name: "a server timeout", of: "submit", status: 504 },
    body: { code: 5002, message: "Server internal timeout", ...frame },
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a running task", of: "poll", job: ID, status: 200 },
    body: {
      ...{ code: 0, message: "SUCCEED", ...frame },
      data: { task_id: ID, task_status: "processing", task_status_msg: "", ...info, ...times },
    },
    outcome: { kind: "pending", seen: "processing" },
  },
  {
    ...{ name: "a succeeded task", of: "poll", job: ID, status: 200 },
    body: {
      ...{ code: 0, message: "SUCCEED", ...frame },
      data: {
        ...{ task_id: ID, task_status: "succeed", task_status_msg: "", ...info, watermark_info: { enabled: false } },
        ...{ final_unit_deduction: "1", ...times },
        task_result: {
          videos: [{ id: "video-001", url: VIDEO, watermark_url: `${VIDEO}?watermark`, duration: "5.0" }],
        },
      },
    },
    outcome: { kind: "announced", results: [{ url: VIDEO, mime: "video/mp4" }] },
  },
  failure("a task that risk control stopped after acceptance", "Failure to pass the risk control system", "refused_output"),
  failure("an input image that is too small", "Image pixel is invalid", "invalid_for_route"),
  failure(
    "an input image of the wrong aspect ratio",
    "The resolution or aspect ratio of the input image is invalid. Please ensure it meets the required specifications.",
    "invalid_for_route",
  ),
  failure("a failed task", "generation error", "job_failed"),
  {
    ...{ name: "an unknown task", of: "poll", job: ID, status: 404 },
    body: { code: 1203, message: "The requested resource does not exist", ...frame },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a rate limit error", of: "poll", job: ID, status: 429 },
    body: { code: 1302, message: "API requests are too fast", ...frame },
    outcome: { kind: "unclear" },
  },
  {
    ...{ name: "the task with our id", of: "find", status: 200 },
    body: {
      ...{ code: 0, message: "SUCCEED", ...frame },
      data: { task_id: ID, task_status: "submitted", task_status_msg: "", ...info, ...times },
    },
    outcome: { kind: "found", job: { jobId: ID, urls: { poll: POLL } } },
  },
  {
    ...{ name: "a task with another id", of: "find", status: 200 },
    body: {
      ...{ code: 0, message: "SUCCEED", ...frame },
      data: { task_id: ID, task_status: "submitted", task_info: { external_task_id: `${REF}2` }, ...times },
    },
    outcome: { kind: "unclear" },
  },
  {
    ...{ name: "an unknown id of ours", of: "find", status: 404 },
    body: { code: 1203, message: "The requested resource does not exist", ...frame },
    outcome: { kind: "absent" },
  },
  {
    ...{ name: "an invalid method error", of: "find", status: 404 },
    body: { code: 1202, message: "The requested method is invalid", ...frame },
    outcome: { kind: "unclear" },
  },
];

export const kling: DialectCase[] = [
  {
    ...{ provider: "kling", endpoint: "videos", recorded, lost: "found" },
    options: {
      endpoints: [
        { when: ["image_url"], path: "image2video" },
        { when: [], path: "text2video" },
      ],
      values: { model: "kling-v2-6", mode: "std", sounds: true },
    },
    key: "s3cr3t-access-key:s3cr3t-0123456789",
    differs: {
      // It rejects refused input in the submission response.
      refuse: "rejected refused_input",
      // It reports an unreachable image as invalid.
      "input-unreachable": "failed invalid_for_route",
    },
    input: { prompt: "a fox in snow", duration: 5, aspect_ratio: "16:9", audio: false },
  },
];
