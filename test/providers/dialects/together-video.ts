// Together AI's videos: bodies from its pages and its SDK, and where it differs from most.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "019a0068-794a-7213-90f6-cc4eb62e3da7";
const VIDEO = { id: ID, object: "video", model: "minimax/video-01-director", created_at: 1729407438 };
const FILE = "https://api.together.ai/shrt/DwlaBdSakNRFlBxN";

const recorded: Recorded[] = [
  {
    ...{ name: "a job that was created", of: "submit", status: 200 },
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
    ...{ name: "a job in the making", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "in_progress", size: "1366x768", seconds: "5" },
    outcome: { kind: "pending", seen: "in_progress" },
  },
  {
    ...{ name: "a job in the line", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "queued" },
    outcome: { kind: "pending", seen: "queued" },
  },
  {
    ...{ name: "a job that is done, its times written as dates", of: "poll", job: ID, status: 200 },
    body: {
      ...{ id: ID, model: "minimax/video-01-director", status: "completed", size: "1366x768", seconds: "6" },
      outputs: { cost: 0.28, video_url: FILE },
      ...{ created_at: "2025-10-20T06:57:18.154804Z", completed_at: "2025-10-20T07:00:12.234472Z" },
    },
    outcome: { kind: "announced", results: [{ url: FILE }] },
  },
  {
    ...{ name: "a job with a parameter that was taken, and found wrong later", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "failed", error: { code: "InvalidParameter", message: "The resolution 480p is not valid." } },
    outcome: { kind: "failed", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a clip that was withheld, told by words alone", of: "poll", job: ID, status: 200 },
    body: {
      ...{ ...VIDEO, status: "failed" },
      error: { message: "Invalid content detected. The generated content was flagged and rejected" },
    },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a job that failed without a code", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "failed", error: { message: "Video generation failed" } },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a job that was cancelled", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, status: "cancelled" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a job that is not known", of: "poll", job: ID, status: 404 },
    body: { error: { message: "Not found", type: "invalid_request_error", param: null, code: null } },
    outcome: { kind: "gone" },
  },
];

export const togetherVideo: DialectCase[] = [
  {
    ...{ provider: "together-video", endpoint: "Wan-AI/wan2.7-r2v", recorded, lost: "unclear" },
    // This family writes its resolutions large, and fails minutes later where they are not.
    options: { values: { resolutions: { "720p": "720P", "1080p": "1080P" }, sounds: true } },
    input: {
      ...{ prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false, seed: 7 },
      ...{ image_url: "https://media.example/first.png", end_image_url: "https://media.example/last.png" },
      ...{ image_urls: ["https://media.example/fox.png"], video_urls: ["https://media.example/snow.mp4"] },
    },
    // What it says of media that it cannot fetch is not known: it counts as any other wrong parameter.
    differs: { "input-unreachable": "failed invalid_for_route" },
  },
];
