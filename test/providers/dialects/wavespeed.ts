// Dialect case of WaveSpeedAI: recorded responses from its documentation, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "e6832d4abffb4d79bfbca19783fca133";
const MODEL = "bytedance/seedance-2.0/text-to-video";
const VIDEO = "https://d11ewybssaphwx.cloudfront.net/output/e6832d4a.mp4";
const urls = { get: `https://api.wavespeed.ai/api/v3/predictions/${ID}/result` };
const CREATED = "2026-11-21T10:00:15.948268264Z";
const prediction = (more: object) => ({
  ...{ code: 200, message: "success" },
  data: { ...{ id: ID, model: MODEL, outputs: [], urls, created_at: CREATED, error: "" }, ...more },
});

const recorded: Recorded[] = [
  {
    ...{ name: "a created prediction", of: "submit", status: 200 },
    body: prediction({ status: "created", has_nsfw_contents: [], timings: { inference: 0 } }),
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a wrong parameter", of: "submit", status: 400 },
    body: { code: 400, message: "duration is not valid" },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a refused prompt", of: "submit", status: 200 },
    body: { code: 1200, message: "The content contains sensitive information." },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: { code: 401, message: "invalid authentication" },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an empty account", of: "submit", status: 403 },
    body: { code: 403, message: "Insufficient credits. Please top up." },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: { code: 429, message: "Too Many Requests" },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a running prediction", of: "poll", job: ID, status: 200 },
    body: prediction({ status: "processing" }),
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a completed prediction", of: "poll", job: ID, status: 200 },
    body: prediction({ status: "completed", outputs: [VIDEO], has_nsfw_contents: [false], timings: { inference: 25_729 } }),
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  {
    ...{ name: "a prediction with one of two images flagged", of: "poll", job: ID, status: 200 },
    body: prediction({ status: "completed", outputs: [VIDEO, VIDEO], has_nsfw_contents: [false, true] }),
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  ...["cancelled", "timeout", "deleted"].map(
    (status): Recorded => ({
      ...{ name: `a prediction that ended as ${status}`, of: "poll", job: ID, status: 200 },
      body: prediction({ status }),
      outcome: { kind: "failed", failure: { class: "job_failed" } },
    }),
  ),
  ...["queued", "starting"].map(
    (status): Recorded => ({
      ...{ name: `a prediction that is ${status}`, of: "poll", job: ID, status: 200 },
      body: prediction({ status }),
      outcome: { kind: "pending" },
    }),
  ),
  {
    ...{ name: "a refused prediction with a code in the data", of: "poll", job: ID, status: 200 },
    body: prediction({ status: "failed", code: 1200, error: "The content may violate the rules." }),
    outcome: { kind: "failed", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "an input image that it could not fetch", of: "poll", job: ID, status: 200 },
    body: prediction({ status: "failed", code: 1402, error: "Failed to download image from the provided URL." }),
    outcome: { kind: "failed", failure: { class: "input_unreachable" } },
  },
  {
    ...{ name: "a failed task", of: "poll", job: ID, status: 200 },
    body: prediction({ status: "failed", code: 1403, error: "The task could not be completed." }),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown prediction", of: "poll", job: ID, status: 404 },
    body: { code: 404, message: "prediction not found" },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a list without inputs", of: "find", status: 200 },
    body: {
      ...{ code: 200, message: "success" },
      data: {
        page: 1,
        items: [
          {
            ...{ id: ID, model: MODEL, outputs: [VIDEO], urls, status: "completed", created_at: CREATED, error: "" },
            ...{ executionTime: 25_729, timings: { inference: 25_729 } },
          },
        ],
      },
    },
    outcome: { kind: "page", candidates: [{ job: { jobId: ID }, match: "possible" }], next: "2" },
  },
  {
    ...{ name: "an empty list", of: "find", status: 200 },
    body: { code: 200, message: "success", data: { page: 1, items: [] } },
    outcome: { kind: "page", candidates: [], next: null },
  },
];

export const wavespeed: DialectCase[] = [
  {
    ...{ provider: "wavespeed", endpoint: MODEL, recorded },
    // The entries of its list cannot be distinguished; at most it proves that no job exists.
    lost: "unclear",
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
    // All moderation has one code; a withheld result also has a flag.
    differs: { "refuse-output": "failed refused_input" },
  },
];
