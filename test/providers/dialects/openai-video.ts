// Dialect case of OpenAI videos: recorded responses from its API reference, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "video_68d7512d07848190b3e45da0ecbebcde004da08e1e0678d5";
const VIDEO = { id: ID, object: "video", model: "sora-2", created_at: 1795000000, seconds: "8", size: "1280x720" };
const NULLS = { completed_at: null, expires_at: null, remixed_from_video_id: null, error: null };

const recorded: Recorded[] = [
  {
    ...{ name: "a created video", of: "submit", status: 200 },
    body: { ...VIDEO, status: "queued", progress: 0, quality: "standard" },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a numeric length", of: "submit", status: 400 },
    body: {
      error: {
        ...{ message: "Invalid type for 'seconds': expected one of '4', '8', or '12', but got an integer instead." },
        ...{ type: "invalid_request_error", param: "seconds", code: "invalid_type" },
      },
    },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an account without credit", of: "submit", status: 429 },
    body: {
      error: {
        ...{ message: "You exceeded your current quota, please check your plan and billing details." },
        ...{ type: "insufficient_quota", param: null, code: "insufficient_quota" },
      },
    },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429, headers: { "retry-after": "2" } },
    body: { error: { message: "Rate limit reached.", type: "requests", param: null, code: "rate_limit_exceeded" } },
    outcome: { kind: "rejected", failure: { class: "rate_limited", retryAfterMs: 2000 } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: {
      error: { message: "Incorrect API key provided.", type: "invalid_request_error", param: null, code: "invalid_api_key" },
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a running video", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, ...NULLS, status: "in_progress", progress: 33, prompt: "a fox in snow" },
    outcome: { kind: "pending", seen: "in_progress" },
  },
  {
    ...{ name: "a finished video", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, ...NULLS, status: "completed", progress: 100, completed_at: 1795000093, expires_at: 1795086493 },
    outcome: {
      kind: "announced",
      results: [{ url: `https://provider.example/base/videos/${ID}/content`, mime: "video/mp4" }],
    },
  },
  {
    ...{ name: "a video that moderation stopped after acceptance", of: "poll", job: ID, status: 200 },
    body: {
      ...{ ...VIDEO, status: "failed" },
      error: { code: "moderation_blocked", message: "Your request was blocked by our moderation system." },
    },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a failed video without a reason", of: "poll", job: ID, status: 200 },
    body: { ...VIDEO, ...NULLS, status: "failed", progress: 40 },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown video", of: "poll", job: ID, status: 404 },
    body: { error: { message: `Video with id '${ID}' not found.`, type: "invalid_request_error", param: null, code: null } },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a list with our video, another one, and one without prompt", of: "find", status: 200 },
    body: {
      object: "list",
      data: [
        { ...VIDEO, ...NULLS, id: "video_1", status: "queued", progress: 0, prompt: "a dog in snow" },
        { ...VIDEO, ...NULLS, id: "video_2", status: "queued", progress: 0, prompt: "a fox in snow", seconds: "4" },
        { ...VIDEO, ...NULLS, status: "in_progress", progress: 20, prompt: "a fox in snow" },
        { ...VIDEO, ...NULLS, id: "video_4", status: "completed", progress: 100, prompt: null },
      ],
      ...{ first_id: "video_1", last_id: "video_4", has_more: false },
    },
    outcome: {
      kind: "page",
      candidates: [
        { job: { jobId: ID }, match: "equal" },
        { job: { jobId: "video_4" }, match: "possible" },
      ],
      next: "video_4",
    },
  },
  {
    ...{ name: "the end of a list", of: "find", status: 200 },
    body: { object: "list", data: [], first_id: null, last_id: null, has_more: false },
    outcome: { kind: "page", candidates: [], next: null },
  },
];

export const openaiVideo: DialectCase[] = [
  {
    ...{ provider: "openai-video", endpoint: "sora-2", recorded, lost: "found" },
    options: { values: { sizes: { "720p 16:9": "1280x720" } } },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 8, aspect_ratio: "16:9", audio: true },
    differs: {
      // Refused input and withheld output have the same code; refused input is reported in the submission response.
      refuse: "rejected refused_input",
      // The file URL follows from the job id, so a missing file is detected only at download.
      "no-file": "announced",
    },
  },
];
