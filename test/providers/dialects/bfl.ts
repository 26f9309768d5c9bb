// Dialect case of Black Forest Labs: recorded responses from its documentation, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "f3a1c2d4-5b6e-4f70-8a9b-0c1d2e3f4a5b";
const POLL = `https://api.us1.bfl.ai/v1/get_result?id=${ID}`;
const SAMPLE = "https://delivery.us1.bfl.ai/results/f3/a1c2/sample.jpeg?se=2026-11-21T10%3A10%3A00Z";
const task = { id: ID, result: null, progress: null, details: null, preview: null };

const seen = (status: string, outcome: object, more: object = {}): Recorded => ({
  ...{ name: `a task that is ${status}`, of: "poll", job: ID, status: 200 },
  body: { ...task, status, ...more },
  outcome,
});
const error = (name: string, status: number, body: object, failureClass: string): Recorded => ({
  ...{ name, of: "submit", status, body },
  outcome: { kind: "rejected", failure: { class: failureClass } },
});

const recorded: Recorded[] = [
  {
    ...{ name: "a task with a polling URL in another region", of: "submit", status: 200 },
    body: { id: ID, polling_url: POLL, cost: 3, input_mp: 0, output_mp: 1.04 },
    outcome: { kind: "accepted", job: { jobId: ID, urls: { poll: POLL } } },
  },
  {
    ...{ name: "a task without a polling URL, because it has a webhook", of: "submit", status: 200 },
    body: { id: ID, status: "Pending", webhook_url: "https://r.example/0k3v9x2m-1" },
    outcome: { kind: "accepted", job: { jobId: ID, urls: { poll: `https://provider.example/base/get_result?id=${ID}` } } },
  },
  error(
    "an invalid field",
    422,
    { detail: [{ loc: ["body", "width"], msg: "Input should be greater than or equal to 64", type: "greater_than_equal" }] },
    "invalid_for_route",
  ),
  error("an empty account", 402, { detail: "Insufficient credits" }, "balance"),
  error("an unknown key", 403, { detail: "Not authenticated" }, "config_fault"),
  error("a model that does not exist", 404, { detail: "Not Found" }, "config_fault"),
  {
    ...{ name: "too many concurrent tasks", of: "submit", status: 429, headers: { "retry-after": "5" } },
    body: { error: "rate_limit_exceeded", message: "Too many concurrent requests", retry_after: 5 },
    outcome: { kind: "rejected", failure: { class: "rate_limited", retryAfterMs: 5_000 } },
  },
  {
    ...{ name: "an unavailable service", of: "submit", status: 503 },
    body: { detail: "Service temporarily unavailable" },
    outcome: { kind: "ambiguous" },
  },
  seen("Pending", { kind: "pending" }, { progress: 0 }),
  seen("Reasoning", { kind: "pending" }),
  seen("Generating", { kind: "pending" }),
  seen(
    "Ready",
    { kind: "announced", results: [{ url: SAMPLE }] },
    { result: { sample: SAMPLE, prompt: "a fox in snow", seed: 1234567890, start_time: 1795000000.1, duration: 4.2 } },
  ),
  seen(
    "Request Moderated",
    { kind: "failed", failure: { class: "refused_input", detail: "Request Moderated: Request Moderated Safety Filter" } },
    { details: { "Moderation Reasons": ["Safety Filter"] } },
  ),
  seen("Content Moderated", { kind: "failed", failure: { class: "refused_output" } }, { details: "Derivative Works Filter" }),
  seen("Error", { kind: "failed", failure: { class: "job_failed" } }),
  seen("Task not found", { kind: "gone" }),
  {
    ...{ name: "an unknown task", of: "poll", job: ID, status: 404 },
    body: { ...task, status: "Task not found" },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a rate limit error", of: "poll", job: ID, status: 429 },
    body: { error: "rate_limit_exceeded", message: "Too many concurrent requests", retry_after: 5 },
    outcome: { kind: "unclear" },
  },
];

export const bfl: DialectCase[] = [
  {
    ...{ provider: "bfl", endpoint: "flux-2-pro", recorded, lost: "unclear" },
    options: {
      fields: { resolution: null, aspect_ratio: null, image_url: "input_image" },
      values: { widths: { "1K 16:9": 1376 }, heights: { "1K 16:9": 768 } },
    },
    // It reports only a general error for internal failures and for inputs that it cannot load.
    differs: { "input-unreachable": "failed job_failed" },
    input: { prompt: "a fox in snow", resolution: "1K", aspect_ratio: "16:9", output_format: "png" },
  },
];
