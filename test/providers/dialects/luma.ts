// Dialect case of Luma: recorded responses from its SDK and its error list, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "123e4567-e89b-12d3-a456-426614174000";
const OTHER = "d1968551-6113-4b46-b567-09210c2e79b0";
const VIDEO = "https://storage.cdn-luma.com/dream_machine/12d17326-a7b6-4538-b9b7-4a2e146d4488/video_0.mp4";
const created_at = "2026-11-21T10:00:01Z";
const request = {
  ...{ generation_type: "video", model: "ray-2", prompt: "a fox in snow", aspect_ratio: "16:9" },
  ...{ resolution: "720p", duration: "5s" },
};
const generation = { id: ID, generation_type: "video", failure_reason: null, created_at, assets: {}, model: "ray-2", request };

const failed = (name: string, failure_reason: string, failureClass: string): Recorded => ({
  ...{ name, of: "poll", job: ID, status: 200 },
  body: { ...generation, state: "failed", failure_reason },
  outcome: { kind: "failed", failure: { class: failureClass } },
});
const error = (name: string, status: number, detail: unknown, failureClass: string): Recorded => ({
  ...{ name, of: "submit", status, body: { detail } },
  outcome: { kind: "rejected", failure: { class: failureClass } },
});
const page = (generations: object[]) => ({ has_more: false, count: generations.length, limit: 100, offset: 0, generations });

const recorded: Recorded[] = [
  {
    ...{ name: "a created generation that runs immediately", of: "submit", status: 201 },
    body: { ...generation, state: "dreaming" },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  error("a missing prompt", 400, "Prompt is required", "invalid_for_route"),
  error("an unsupported feature of the model", 400, "400: concepts are not supported for this model", "invalid_for_route"),
  error("an input image that it could not moderate", 400, "400: failed to moderate image", "input_unreachable"),
  error("a refused prompt", 400, "400: prompt not allowed because advanced moderation failed", "refused_input"),
  error(
    "an invalid field with a misleading text",
    422,
    [{ type: "enum", loc: ["body", "aspect_ratio"], msg: "Input should be '1:1' or '16:9'", input: "a policy of moderation" }],
    "invalid_for_route",
  ),
  error("an empty account", 400, "Insufficient credits", "balance"),
  error("an invalid key", 401, "Invalid API key provided", "config_fault"),
  error("too many requests", 429, "Rate limit exceeded", "rate_limited"),
  {
    ...{ name: "a queued generation", of: "poll", job: ID, status: 200 },
    body: { ...generation, state: "queued" },
    outcome: { kind: "pending", seen: "queued" },
  },
  {
    ...{ name: "a running generation with a preview", of: "poll", job: ID, status: 200 },
    body: { ...generation, state: "dreaming", assets: { progress_video: `${VIDEO}?progress` } },
    outcome: { kind: "pending", seen: "dreaming" },
  },
  {
    ...{ name: "a completed generation", of: "poll", job: ID, status: 200 },
    body: { ...generation, state: "completed", assets: { video: VIDEO, image: `${VIDEO}.jpg` } },
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  failed("a blacklisted word", "Contains blacklisted words", "refused_input"),
  failed("a prompt that was refused after acceptance", "Advanced prompt moderation failed", "refused_input"),
  failed("withheld frames", "Frame moderation failed", "refused_output"),
  failed("an input image that it could not fetch", "Failed to read user input frames", "input_unreachable"),
  failed("a failed job", "Job failed", "job_failed"),
  {
    ...{ name: "an unknown generation", of: "poll", job: ID, status: 404 },
    body: { detail: "Generation not found" },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a list with our callback URL", of: "find", status: 200 },
    body: page([
      { ...generation, id: OTHER, state: "dreaming", request: { ...request, callback_url: "https://r.example/0k3v9x2m-2" } },
      { ...generation, state: "queued", request: { ...request, callback_url: "https://r.example/0k3v9x2m-1" } },
    ]),
    outcome: { kind: "page", candidates: [{ job: { jobId: ID }, match: "certain" }], next: "2" },
  },
  {
    ...{ name: "a list with our request", of: "find", status: 200 },
    body: page([
      { ...generation, id: OTHER, state: "dreaming", request: { ...request, prompt: "a hen in rain" } },
      { ...generation, state: "queued" },
    ]),
    outcome: { kind: "page", candidates: [{ job: { jobId: ID }, match: "equal" }], next: "2" },
  },
  {
    ...{ name: "a list with our request and additional defaults", of: "find", status: 200 },
    body: page([{ ...generation, state: "queued", request: { ...request, loop: false, keyframes: null, callback_url: null } }]),
    outcome: { kind: "page", candidates: [{ job: { jobId: ID }, match: "possible" }], next: "1" },
  },
];

export const luma: DialectCase[] = [
  {
    ...{ provider: "luma", endpoint: "generations/video", recorded, lost: "found" },
    options: { values: { model: "ray-2" } },
    // Its error list has no code for a withheld result, only for refused input.
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
  },
];
