// Runway: bodies from its SDK, its error pages and its validator, and where it differs from most.
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
    ...{ name: "a task that was created", of: "submit", status: 200 },
    body: { id: ID, estimatedCost: { credits: 63 } },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a clip that is too long", of: "submit", status: 400 },
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
    ...{ name: "a model that the validator does not know", of: "submit", status: 400 },
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
    ...{ name: "a picture that cannot be fetched", of: "submit", status: 400 },
    body: {
      error: "Validation of body failed",
      issues: [{ code: "custom", path: ["promptImage"], message: 'Failed to fetch asset. Received HTTP response code "403".' }],
      docUrl,
    },
    outcome: { kind: "rejected", failure: { class: "input_unreachable" } },
  },
  {
    ...{ name: "an empty account, although it is a 400", of: "submit", status: 400 },
    body: { error: "You do not have enough credits to run this task.", docUrl },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a day that is used up", of: "submit", status: 429 },
    body: { error: "Your daily task limit has been reached." },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a model that the account may not use", of: "submit", status: 403 },
    body: { error: "Model variant gen4_turbo is not available" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a server that sheds load, which proves nothing", of: "submit", status: 502 },
    body: "",
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a task that waits for others of the account", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "THROTTLED" },
    outcome: { kind: "pending", seen: "THROTTLED" },
  },
  {
    ...{ name: "a task that runs", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "RUNNING", progress: 0.02, estimatedCost: { credits: 63 } },
    outcome: { kind: "pending", seen: "RUNNING" },
  },
  {
    ...{ name: "a task that succeeded", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "SUCCEEDED", output: [VIDEO], cost: { credits: 63 } },
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  failed("a prompt that was refused", "SAFETY.INPUT.TEXT", "refused_input"),
  failed("a prompt that was refused before the work", "INPUT_PREPROCESSING.SAFETY.TEXT", "refused_input"),
  failed("a moderation that broke", "INPUT_PREPROCESSING.INTERNAL", "job_failed"),
  failed("a clip that was withheld", "SAFETY.OUTPUT.VIDEO", "refused_output"),
  failed("a picture of the wrong size", "ASSET.INVALID", "invalid_for_route"),
  failed("a clip that was not good enough", "INTERNAL.BAD_OUTPUT.CODE01", "job_failed"),
  failed("a failure without a code", undefined, "job_failed"),
  {
    ...{ name: "a task that was stopped", of: "poll", job: ID, status: 200 },
    body: { ...task, status: "CANCELLED" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a task that was deleted", of: "poll", job: ID, status: 404 },
    body: { error: "Could not find Task" },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a key that is not valid any more says nothing of the task", of: "poll", job: ID, status: 401 },
    body: { error: "The API key in the request is not valid." },
    outcome: { kind: "unclear" },
  },
];

export const runway: DialectCase[] = [
  {
    ...{ provider: "runway", endpoint: "v1/text_to_video", recorded, lost: "unclear" },
    options: { values: { model: "seedance2", ratios: { "720p 16:9": "1280:720" }, sounds: true } },
    // Media are fetched while the submission is read.
    differs: { "input-unreachable": "rejected input_unreachable" },
    input: {
      ...{ prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false, seed: 1 },
      ...{ image_urls: ["https://in.example/fox.png"], video_urls: ["https://in.example/snow.mp4"] },
      audio_urls: ["https://in.example/wind.mp3"],
    },
  },
];
