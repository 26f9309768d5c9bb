// Dialect case of Together AI videos: recorded responses from its documentation and SDK, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "019a0068-794a-7213-90f6-cc4eb62e3da7";
const VIDEO = { id: ID, object: "video", model: "minimax/video-01-director", created_at: 1729407438 };
const FILE = "https://api.together.ai/shrt/DwlaBdSakNRFlBxN";

const recorded: Recorded[] = [
  {
    ...{ name: "a created job", of: "submit", status: 200 },
    body: { ...VIDEO, status: "in_progress" },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: {
      ...{ id: "oMZbc7k-2kFHot-9a78aa608b7f797c-PDX" },
      error: { message: "Invalid API key provided.", type: "invalid_request_error", param: null, code: "invalid_api_key" },
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: { error: { message: "You have been rate limited.", type: "credit_limit", param: null, code: null } },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an empty account", of: "submit", status: 402 },
    body: { error: { message: "Credit limit exceeded.", type: "credit_limit", param: null, code: null } },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a running job", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "in_progress", size: "1366x768", seconds: "5" },
    outcome: { kind: "pending", seen: "in_progress" },
  },
  {
    ...{ name: "a queued job", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "queued" },
    outcome: { kind: "pending", seen: "queued" },
  },
  {
    ...{ name: "a finished job with times as dates", of: "poll", job: ID, status: 200 },
    body: {
      ...{ id: ID, model: "minimax/video-01-director", status: "completed", size: "1366x768", seconds: "6" },
      outputs: { cost: 0.28, video_url: FILE },
      ...{ created_at: "2025-10-20T06:57:18.154804Z", completed_at: "2025-10-20T07:00:12.234472Z" },
    },
    outcome: { kind: "announced", results: [{ url: FILE }] },
  },
  {
    ...{ name: "a job whose parameter was found invalid after acceptance", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "failed", error: { code: "InvalidParameter", message: "The resolution 480p is not valid." } },
    outcome: { kind: "failed", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a withheld clip, reported only by its message", of: "poll", job: ID, status: 200 },
    body: {
      ...{ ...VIDEO, status: "failed" },
      error: { message: "Invalid content detected. The generated content was flagged and rejected" },
    },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a failed job without a code", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "failed", error: { message: "Video generation failed" } },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a cancelled job", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "cancelled" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown job", of: "poll", job: ID, status: 404 },
    body: { error: { message: "Not found", type: "invalid_request_error", param: null, code: null } },
    outcome: { kind: "gone" },
  },
];

export const togetherVideo: DialectCase[] = [
  {
    ...{ provider: "together-video", endpoint: "Wan-AI/wan2.7-r2v", recorded, lost: "unclear" },
    // This model family needs resolutions in capital letters, and otherwise fails minutes later.
    options: { values: { resolutions: { "720p": "720P", "1080p": "1080P" }, sounds: true } },
    input: {
      ...{ prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false, seed: 7 },
      ...{ image_url: "https://media.example/first.png", end_image_url: "https://media.example/last.png" },
      ...{ image_urls: ["https://media.example/fox.png"], video_urls: ["https://media.example/snow.mp4"] },
    },
    // Its response to unreachable media is undocumented, so it counts as an invalid parameter.
    differs: { "input-unreachable": "failed invalid_for_route" },
  },
];
