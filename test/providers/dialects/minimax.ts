// Dialect case of MiniMax clips: recorded responses from its documentation, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "424010985738629";
const VIDEO = "https://video-product.cdn.minimax.io/inference_output/rollout/2026-07-28/5fe7ec4a/output.mp4";
const TRACE = "021785229015510a2c883cf675b9804d";

const error = (type: string, message: string, code: string) => ({
  ...{ type: "error", error: { type, message, http_code: code }, request_id: TRACE },
});
const task = (more: object) => ({
  task: {
    ...{ id: ID, model: "MiniMax-H3", created_at: 1785125529, updated_at: 1785125946, resolution: "2K", duration: 5 },
    ...{ ratio: "16:9", task_type: "generation", modality: "video" },
    ...more,
  },
});
const listed = { model: "MiniMax-H3", created_at: 1785225940, updated_at: 1785226100, ratio: "9:16", task_type: "generation" };

const recorded: Recorded[] = [
  {
    ...{ name: "a created task", of: "submit", status: 200 },
    body: { task_id: ID },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a request without a prompt", of: "submit", status: 400 },
    body: error(
      "bad_request_error",
      "invalid params, content must include a non-empty text item (prompt is required) (2013)",
      "400",
    ),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: error(
      "authorized_error",
      "login fail: Please carry the API secret key in the 'Authorization' field of the request header (1004)",
      "401",
    ),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an empty balance", of: "submit", status: 402 },
    body: error("insufficient_balance_error", "insufficient balance (1008)", "402"),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a refused prompt", of: "submit", status: 422 },
    body: error("unprocessable_entity_error", "video description contains sensitive content (1026)", "422"),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: error("rate_limit_error", "rate limit, please retry later (1002)", "429"),
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an exhausted plan", of: "submit", status: 429 },
    body: error("rate_limit_error", "usage limit exceeded (2056)", "429"),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an internal error", of: "submit", status: 500 },
    body: error("server_error", "internal error (1000)", "500"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a running task", of: "poll", job: ID, status: 200 },
    body: task({ status: "running", usage: {} }),
    outcome: { kind: "pending", seen: "running" },
  },
  {
    ...{ name: "a succeeded task", of: "poll", job: ID, status: 200 },
    body: task({
      status: "succeeded",
      content: { url: VIDEO },
      usage: { total_seconds: 5, input_seconds: 0, output_seconds: 5, input_image_count: 0 },
    }),
    outcome: { kind: "announced", results: [{ url: VIDEO, mime: "video/mp4" }] },
  },
  {
    ...{ name: "a task with another id", of: "poll", job: "424010985738630", status: 200 },
    body: task({ status: "succeeded", content: { url: VIDEO } }),
    outcome: { kind: "unclear" },
  },
  {
    ...{ name: "a task whose prompt was refused after acceptance", of: "poll", job: ID, status: 200 },
    body: task({ status: "failed", error: { code: "1026", message: "video description contains sensitive content" } }),
    outcome: { kind: "failed", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a cancelled task", of: "poll", job: ID, status: 200 },
    body: task({ status: "cancelled" }),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a task older than seven days", of: "poll", job: ID, status: 400 },
    body: error("bad_request_error", "invalid params, invalid task_id (2013)", "400"),
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "an unknown task", of: "poll", job: ID, status: 500 },
    body: error("server_error", "record not found", "500"),
    outcome: { kind: "gone" },
  },
  {
    // Without reference and prompt, a task with our duration and resolution may be ours; others cannot be.
    ...{ name: "a list that may contain the lost task", of: "find", status: 200 },
    body: {
      items: [
        { id: "424635601932588", status: "running", resolution: "2K", duration: 10, usage: {}, ...listed },
        { id: "424635601932587", status: "queued", resolution: "2K", duration: 5, usage: {}, ...listed },
        { id: "424635601932586", status: "queued", resolution: "768P", duration: 5, usage: {}, ...listed },
      ],
      total: 3,
    },
    outcome: { kind: "page", candidates: [{ job: { jobId: "424635601932587" }, match: "possible" }], next: "2" },
  },
  {
    // Another task may have the same prompt, duration and resolution, but another image or aspect ratio.
    ...{ name: "a list with prompts, which may contain the lost task", of: "find", status: 200 },
    body: { items: [{ id: "424635601932587", prompt: "a fox in snow", resolution: "2K", duration: 5, ...listed }] },
    outcome: { kind: "page", candidates: [{ job: { jobId: "424635601932587" }, match: "possible" }], next: "2" },
  },
];

export const minimax: DialectCase[] = [
  {
    ...{ provider: "minimax", endpoint: "MiniMax-H3", recorded },
    // Its list shows neither our reference nor the input.
    lost: "unclear",
    options: { values: { resolutions: { "768p": "768P", "2k": "2K" } } },
    differs: {
      // It has no 404 for models, and reports an unreachable link like any invalid parameter.
      "404": "rejected invalid_for_route",
      "input-unreachable": "failed invalid_for_route",
    },
    input: { prompt: "a fox in snow", resolution: "2k", duration: 5, aspect_ratio: "16:9" },
  },
];
