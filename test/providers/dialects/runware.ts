// Dialect case of Runware: recorded responses from its documentation and SDK tests, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "50836053-a0ee-4cf5-b9d6-ae7c5d140ada";
/** The task id of the recorded attempt. */
const OURS = "ef1ee38a-8a1a-42fa-bc31-c357f1e31d16";
const VIDEO = "https://vm.runware.ai/video/ws/5/vi/b7db282d-2943-4f12-992f-77df3ad3ec71.mp4";
const about = { taskType: "videoInference", taskUUID: ID };
const errors = (code: string, message: string, more: object = about) => ({ data: [], errors: [{ code, message, ...more }] });

const recorded: Recorded[] = [
  {
    ...{ name: "a flagged image", of: "poll", job: ID, status: 200 },
    body: {
      data: [{ ...about, status: "success", imageURL: "https://im.runware.ai/image/x.jpg", NSFWContent: true, cost: 0.14 }],
    },
    outcome: { kind: "failed", failure: { class: "refused_output", isBilled: true } },
  },
  {
    ...{ name: "an image that is not flagged", of: "poll", job: ID, status: 200 },
    body: {
      data: [{ ...about, status: "success", imageURL: "https://im.runware.ai/image/x.jpg", NSFWContent: false, cost: 0.14 }],
    },
    outcome: { kind: "announced", results: [{ url: "https://im.runware.ai/image/x.jpg" }] },
  },
  ...["nsfwContentDetected", "unsafeContentDetected", "imageBlocked", "providerContentPolicyViolation"].map(
    (code): Recorded => ({
      ...{ name: `${code} of a finished task`, of: "poll", job: ID, status: 200 },
      body: errors(code, "The result was withheld.", { ...about, status: "error" }),
      outcome: { kind: "failed", failure: { class: "refused_output" } },
    }),
  ),
  {
    ...{ name: "an accepted task", of: "submit", status: 200 },
    body: { data: [about] },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: {
      errors: [
        {
          ...{ code: "invalidApiKey", message: "Invalid API key. Get one at https://my.runware.ai/signup" },
          ...{ parameter: "apiKey", taskType: "authentication" },
        },
      ],
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an invalid width", of: "submit", status: 400 },
    body: errors("invalidWidth", "Invalid value for 'width' parameter.", {
      ...{ parameter: "width", type: "integer", min: 256, max: 16_383, multiplier: 1, taskUUID: ID },
      documentation: "https://runware.ai/docs/en/image-inference/api-reference#request-width",
    }),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an unsupported duration", of: "submit", status: 200 },
    body: errors("unsupportedDuration", "The duration is not supported by this model."),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a reused task id, whose task exists", of: "submit", status: 400 },
    body: errors("conflictTaskUUID", "A task with this taskUUID exists."),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a gateway error with a misleading code", of: "submit", status: 502 },
    body: errors("loadBalancerTimeout", "The load balancer gave up."),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "an invalid response of the model vendor", of: "submit", status: 500 },
    body: errors("invalidProviderResponse", "The provider's answer was invalid."),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "an empty balance", of: "submit", status: 402 },
    body: errors("insufficientCredits", "Insufficient credits."),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a full queue", of: "submit", status: 429 },
    body: errors("rateLimitExceeded", "Too many requests."),
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a blocked prompt", of: "submit", status: 400 },
    body: errors("promptBlocked", "The prompt was blocked."),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a running task", of: "poll", job: ID, status: 200 },
    body: { data: [{ ...about, status: "processing", progress: 40 }] },
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a finished clip", of: "poll", job: ID, status: 200 },
    body: {
      data: [
        { ...about, status: "success", videoUUID: "b7db282d-2943-4f12-992f-77df3ad3ec71", videoURL: VIDEO, cost: 0.18, seed: 42 },
      ],
    },
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  {
    ...{ name: "a failed task in the error list", of: "poll", job: ID, status: 200 },
    body: errors("timeoutProvider", "The external provider did not respond.", { ...about, status: "error" }),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a failed task with an unknown code", of: "poll", job: ID, status: 200 },
    body: errors("somethingNew", "Something new.", { ...about, status: "error" }),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a clip that the model vendor filtered", of: "poll", job: ID, status: 200 },
    body: errors("invalidProviderContent", "The content was filtered.", { ...about, status: "error" }),
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a wrong key during a poll", of: "poll", job: ID, status: 401 },
    body: { errors: [{ code: "invalidApiKey", message: "Invalid API key." }] },
    outcome: { kind: "unclear" },
  },
  {
    ...{ name: "an unknown task", of: "poll", job: ID, status: 404 },
    body: errors("taskNotFound", "Task not found."),
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "an empty list", of: "poll", job: ID, status: 200 },
    body: { data: [] },
    outcome: { kind: "unclear" },
  },
  {
    ...{ name: "the task with our id", of: "find", status: 200 },
    body: { data: [{ ...about, taskUUID: OURS, status: "processing" }] },
    outcome: { kind: "found", job: { jobId: OURS } },
  },
  {
    ...{ name: "a task with another id", of: "find", status: 200 },
    body: { data: [{ ...about, status: "processing" }] },
    outcome: { kind: "unclear" },
  },
  {
    ...{ name: "an unknown task id", of: "find", status: 404 },
    body: errors("taskFailedOrNotFound", "No such task."),
    outcome: { kind: "absent" },
  },
  {
    ...{ name: "an empty lookup", of: "find", status: 200 },
    body: { data: [] },
    outcome: { kind: "unclear" },
  },
];

export const runware: DialectCase[] = [
  {
    ...{ provider: "runware", endpoint: "bytedance:seedance@2.0", recorded, lost: "found" },
    options: {
      values: {
        ...{ task: "videoInference", model: "bytedance:seedance@2.0" },
        ...{ widths: { "720p 16:9": 1280 }, heights: { "720p 16:9": 720 } },
      },
    },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
  },
];
