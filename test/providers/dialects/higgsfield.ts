// Higgsfield: bodies from its pages and its SDKs, and where it differs from most.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "d7e6c0f3-6699-4f6c-bb45-2ad7fd9158ff";
const BASE = `https://platform.higgsfield.ai/requests/${ID}`;
const urls = { request_id: ID, status_url: `${BASE}/status`, cancel_url: `${BASE}/cancel` };
const VIDEO = "https://video.url/example.mp4";

const recorded: Recorded[] = [
  {
    ...{ name: "a request that was queued", of: "submit", status: 200 },
    body: { status: "queued", ...urls },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a field that does not fit", of: "submit", status: 422 },
    body: {
      detail: [{ type: "missing", loc: ["body", "prompt"], msg: "Field required", input: {} }],
    },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a key that it knows already: the request exists", of: "submit", status: 422 },
    body: { detail: "This Idempotency-Key was used with another body" },
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a bad request", of: "submit", status: 400 },
    body: { detail: "Unsupported duration" },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an empty account, although it is a 403", of: "submit", status: 403 },
    body: { detail: "Not enough credits" },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: { detail: "Invalid credentials" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a model that it does not have", of: "submit", status: 404 },
    body: { detail: "Model not found" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "too many at a time", of: "submit", status: 429 },
    body: { detail: "Too many requests" },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a request that runs", of: "poll", job: ID, status: 200 },
    body: { status: "in_progress", ...urls },
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a clip that is done", of: "poll", job: ID, status: 200 },
    body: { status: "completed", ...urls, video: { url: VIDEO } },
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  {
    ...{ name: "pictures that are done", of: "poll", job: ID, status: 200 },
    body: { status: "completed", ...urls, images: [{ url: "https://image.url/1.jpg" }, { url: "https://image.url/2.jpg" }] },
    outcome: { kind: "announced", results: [{ url: "https://image.url/1.jpg" }, { url: "https://image.url/2.jpg" }] },
  },
  {
    ...{ name: "a request that moderation stopped", of: "poll", job: ID, status: 200 },
    body: { status: "nsfw", ...urls },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a request that failed", of: "poll", job: ID, status: 200 },
    body: { status: "failed", ...urls, error: "Generation failed" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a request that is not there", of: "poll", job: ID, status: 404 },
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
      // Moderation has one word for the input and the result.
      refuse: "failed refused_output",
      // Of a failure it says that it was one.
      "input-unreachable": "failed job_failed",
    },
  },
];
