// Dialect cases of ModelArk at BytePlus and Volcengine: recorded responses, and their deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const REF = "0k3v9x2m-1";
const ID = "cgt-20261121100000-abcde";
const VIDEO = "https://ark-content-generation-ap-southeast-1.tos-ap-southeast-1.volces.com/seedance/0217.mp4?X-Tos-Expires=86400";

const recorded: Recorded[] = [
  {
    ...{ name: "a created task", of: "submit", status: 200 },
    body: { id: ID, safety_identifier: REF },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "an input image with a real face", of: "submit", status: 400 },
    body: {
      error: {
        code: "InputImageSensitiveContentDetected.PrivacyInformation",
        message: "The request failed because the input image may contain real user.",
        param: "",
        type: "BadRequest",
      },
    },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "an account in arrears", of: "submit", status: 403 },
    body: {
      error: {
        code: "AccountOverdueError",
        message: "The request failed because your account has an overdue balance.",
        param: "",
        type: "Forbidden",
      },
    },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an exhausted quota", of: "submit", status: 429 },
    body: {
      error: { code: "QuotaExceeded", message: "Your account has exceeded its quota.", param: "", type: "TooManyRequests" },
    },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an overloaded server", of: "submit", status: 429 },
    body: {
      error: {
        code: "ServerOverloaded",
        message: "The service is currently unable to handle additional requests.",
        param: "",
        type: "TooManyRequests",
      },
    },
    outcome: { kind: "rejected", failure: { class: "overloaded" } },
  },
  {
    ...{ name: "a running task", of: "poll", job: ID, status: 200 },
    body: {
      id: ID,
      model: "dreamina-seedance-2-0-260128",
      status: "running",
      created_at: 1795000000,
      updated_at: 1795000004,
      safety_identifier: REF,
    },
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a succeeded task", of: "poll", job: ID, status: 200 },
    body: {
      ...{
        id: ID,
        status: "succeeded",
        content: { video_url: VIDEO },
        usage: { completion_tokens: 108900, total_tokens: 108900 },
      },
      ...{ seed: 58944, resolution: "720p", ratio: "16:9", duration: 5, framespersecond: 24, service_tier: "default" },
      ...{ execution_expires_after: 3600, generate_audio: true, created_at: 1795000000, updated_at: 1795000093 },
    },
    outcome: { kind: "announced", results: [{ url: VIDEO, mime: "video/mp4" }] },
  },
  {
    ...{ name: "a withheld clip", of: "poll", job: ID, status: 200 },
    body: {
      id: ID,
      status: "failed",
      error: {
        code: "OutputVideoSensitiveContentDetected",
        message: "The request failed because the output video may contain sensitive information.",
      },
    },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "an expired task", of: "poll", job: ID, status: 200 },
    body: { id: ID, status: "expired", created_at: 1795000000 },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a list with our reference", of: "find", status: 200 },
    body: {
      total: 2,
      items: [
        { id: "cgt-other", status: "running", created_at: 1795000000, safety_identifier: "0k3v9x2m-2" },
        { id: ID, status: "queued", created_at: 1795000000, safety_identifier: REF },
      ],
    },
    outcome: { kind: "page", candidates: [{ job: { jobId: ID }, match: "certain" }] },
  },
];

export const modelark: DialectCase[] = ["modelark", "volcengine"].map((provider) => ({
  ...{ provider, endpoint: "dreamina-seedance-2-0-260128", recorded, lost: "found" },
  // It reports an unreachable link like any invalid parameter.
  differs: { "input-unreachable": "failed invalid_for_route" },
  input: { prompt: "a fox in snow", resolution: "4K", duration: 5, aspect_ratio: "16:9", audio: false },
  // Its spelling of one resolution differs from ours.
  understood: { resolution: "4k", ratio: "16:9", duration: 5, generate_audio: false },
}));
