// Dialect case of Runway: recorded responses from its SDK, error list and validator, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "17f20503-6c24-4c16-946b-35dbbce2af2f";
const VIDEO = "https://dnznrvs05pmza.cloudfront.net/seedance2/17f20503/video.mp4?_jwt=x";
const docUrl = "https://docs.dev.runwayml.com/api";
const task = { id: ID, createdAt: "2026-11-21T10:00:03.796Z" };

const failed = (name: string, failureCode: string | undefined, failureClass: string): Recorded => ({
  ...{ name, of: "poll", job: ID, status: 200 },
  body: { ...task, status: "FAILED", failure: "The task failed.", ...(failureCode === undefined ? {} : { failureCode }) },
  outcome: { kind: "failed", failure: { class: failureClass } },
});

const recorded: Recorded[] = [
  {
    ...{ name: "a created task", of: "submit", status: 200 },
    body: { id: ID, estimatedCost: { credits: 63 } },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a too long input clip", of: "submit", status: 400 },
    body: {
      error: "Validation of body failed",
      issues: [
        {
          ...{ code: "too_big", maximum: 30, type: "number", inclusive: true, origin: "number" },
          ...{ message: "Asset duration must be at most 30 seconds", path: ["videoUri"] },
        },
      ],
      docUrl,
    },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an unknown model", of: "submit", status: 400 },
    body: {
      error: "Validation of body failed",
      issues: [
        {
          expected: "string",
          code: "invalid_type",
          path: ["model"],
          message: "Invalid input: expected string, received undefined",
        },
        { code: "invalid_union", errors: [], note: "No matching discriminator", discriminator: "model", path: ["model"] },
      ],
      docUrl,
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an input image that it cannot fetch", of: "submit", status: 400 },
    body: {
      error: "Validation of body failed",
      issues: [{ code: "custom", path: ["promptImage"], message: 'Failed to fetch asset. Received HTTP response code "403".' }],
      docUrl,
    },
    outcome: { kind: "rejected", failure: { class: "input_unreachable" } },
  },
  {
    ...{ name: "an empty account", of: "submit", status: 400 },
    body: { error: "You do not have enough credits to run this task.", docUrl },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an exhausted daily limit", of: "submit", status: 429 },
    body: { error: "Your daily task limit has been reached." },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a model without permission", of: "submit", status: 403 },
    body: { error: "Model variant gen4_turbo is not available" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an empty gateway error", of: "submit", status: 502 },
    body: "",
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a throttled task", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "THROTTLED" },
    outcome: { kind: "pending", seen: "THROTTLED" },
  },
  {
    ...{ name: "a running task", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "RUNNING", progress: 0.02, estimatedCost: { credits: 63 } },
    outcome: { kind: "pending", seen: "RUNNING" },
  },
  {
    ...{ name: "a succeeded task", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "SUCCEEDED", output: [VIDEO], cost: { credits: 63 } },
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  failed("a refused prompt", "SAFETY.INPUT.TEXT", "refused_input"),
  failed("a prompt that was refused in preprocessing", "INPUT_PREPROCESSING.SAFETY.TEXT", "refused_input"),
  failed("a failed moderation", "INPUT_PREPROCESSING.INTERNAL", "job_failed"),
  failed("a withheld clip", "SAFETY.OUTPUT.VIDEO", "refused_output"),
  failed("an input image of the wrong size", "ASSET.INVALID", "invalid_for_route"),
  failed("a clip of insufficient quality", "INTERNAL.BAD_OUTPUT.CODE01", "job_failed"),
  failed("a failure without a code", undefined, "job_failed"),
  {
    ...{ name: "a cancelled task", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "CANCELLED" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a deleted task", of: "poll", job: ID, status: 404 },
    body: { error: "Could not find Task" },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "an invalid key during a poll", of: "poll", job: ID, status: 401 },
    body: { error: "The API key in the request is not valid." },
    outcome: { kind: "unclear" },
  },
];

export const runway: DialectCase[] = [
  {
    ...{ provider: "runway", endpoint: "v1/text_to_video", recorded, lost: "unclear" },
    options: { values: { model: "seedance2", ratios: { "720p 16:9": "1280:720" }, sounds: true } },
    // It fetches media during the submission.
    differs: { "input-unreachable": "rejected input_unreachable" },
    input: {
      ...{ prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false, seed: 1 },
      ...{ image_urls: ["https://in.example/fox.png"], video_urls: ["https://in.example/snow.mp4"] },
      audio_urls: ["https://in.example/wind.mp3"],
    },
  },
];
