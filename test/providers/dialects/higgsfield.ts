// Dialect case of Higgsfield: recorded responses from its documentation and SDKs, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "d7e6c0f3-6699-4f6c-bb45-2ad7fd9158ff";
const BASE = `https://platform.higgsfield.ai/requests/${ID}`;
const urls = { request_id: ID, status_url: `${BASE}/status`, cancel_url: `${BASE}/cancel` };
const VIDEO = "https://video.url/example.mp4";

const recorded: Recorded[] = [
  {
    ...{ name: "a queued request", of: "submit", status: 200 },
    body: { status: "queued", ...urls },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a missing field", of: "submit", status: 422 },
    body: {
      detail: [{ type: "missing", loc: ["body", "prompt"], msg: "Field required", input: {} }],
    },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a reused idempotency key, whose request exists", of: "submit", status: 422 },
    body: { detail: "This Idempotency-Key was used with another body" },
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "an unsupported duration", of: "submit", status: 400 },
    body: { detail: "Unsupported duration" },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an empty account", of: "submit", status: 403 },
    body: { detail: "Not enough credits" },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: { detail: "Invalid credentials" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an unknown model", of: "submit", status: 404 },
    body: { detail: "Model not found" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: { detail: "Too many requests" },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a running request", of: "poll", job: ID, status: 200 },
    body: { status: "in_progress", ...urls },
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a finished clip", of: "poll", job: ID, status: 200 },
    body: { status: "completed", ...urls, video: { url: VIDEO } },
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  {
    ...{ name: "two finished images", of: "poll", job: ID, status: 200 },
    body: { status: "completed", ...urls, images: [{ url: "https://image.url/1.jpg" }, { url: "https://image.url/2.jpg" }] },
    outcome: { kind: "announced", results: [{ url: "https://image.url/1.jpg" }, { url: "https://image.url/2.jpg" }] },
  },
  {
    ...{ name: "a moderated request", of: "poll", job: ID, status: 200 },
    body: { status: "nsfw", ...urls },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a failed request", of: "poll", job: ID, status: 200 },
    body: { status: "failed", ...urls, error: "Generation failed" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown request", of: "poll", job: ID, status: 404 },
    body: { detail: "Request not found" },
    outcome: { kind: "gone" },
  },
];

export const higgsfield: DialectCase[] = [
  {
    ...{ provider: "higgsfield", endpoint: "bytedance/seedance-2.0/text-to-video", key: "0f6c-id:s3cr3t-0123456789" },
    ...{ recorded, lost: "found" },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
    differs: {
      // Moderation has one status for the input and the result.
      refuse: "failed refused_output",
      // A failure has no reason.
      "input-unreachable": "failed job_failed",
    },
  },
];
