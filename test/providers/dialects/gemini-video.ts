// Dialect case of Google's clips by interactions: recorded responses, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "v1_ChdXS0l4YWZXTk9xbk0";
const MP4 = "AAAAIGZ0eXBpc29t";
const URI = "https://generativelanguage.googleapis.com/v1beta/files/xyz:download?alt=media";
const ABOUT = { id: ID, object: "interaction", model: "gemini-omni-1.2-flash", created: "2026-11-21T10:00:00Z" };
const ASKED = { type: "user_input", content: [{ type: "text", text: "a fox in snow" }] };
const made = (content: object) => ({ type: "model_output", content: [content] });

const recorded: Recorded[] = [
  {
    ...{ name: "a started interaction", of: "submit", status: 200 },
    body: { ...ABOUT, status: "in_progress" },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "an unknown parameter", of: "submit", status: 400 },
    body: { error: { message: "Unknown parameter: ratio", code: "parameter_unknown" } },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: { error: { message: "The API key is invalid.", code: "authentication" } },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a wrong key in the format of the older API", of: "submit", status: 400 },
    body: {
      error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] },
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an exhausted balance", of: "submit", status: 402 },
    body: { error: { message: "Your prepaid credit balance is depleted.", code: "payment_required" } },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an exhausted daily quota", of: "submit", status: 429 },
    body: { error: { message: "You have exceeded your daily quota.", code: "quota_exceeded" } },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: { error: { message: "You have exceeded the per-minute limit.", code: "rate_limit_exceeded" } },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an immediately blocked prompt", of: "submit", status: 400 },
    body: { error: { message: "The request was blocked.", code: "content_blocked" } },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a queued interaction", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "queued" },
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a clip as data although a URL was requested", of: "poll", job: ID, status: 200 },
    body: {
      ...{ ...ABOUT, status: "completed" },
      steps: [ASKED, { type: "thought", signature: "c2ln" }, made({ type: "video", mime_type: "video/mp4", data: MP4 })],
    },
    outcome: { kind: "announced", results: [{ url: `data:video/mp4;base64,${MP4}` }] },
  },
  {
    ...{ name: "a clip as a URL, next to the input clip", of: "poll", job: ID, status: 200 },
    body: {
      ...{ ...ABOUT, status: "completed" },
      steps: [
        { type: "user_input", content: [{ type: "video", mime_type: "video/mp4", uri: "https://files.example/source.mp4" }] },
        made({ type: "video", mime_type: "video/mp4", uri: URI }),
      ],
    },
    outcome: { kind: "announced", results: [{ url: URI }] },
  },
  {
    ...{ name: "a clip in the format of the SDK", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "completed", output_video: { type: "video", mime_type: "video/mp4", uri: URI } },
    outcome: { kind: "announced", results: [{ url: URI }] },
  },
  {
    ...{ name: "text instead of a clip", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "completed", steps: [ASKED, made({ type: "text", text: "no video" })] },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a failure with a reason", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "failed", errors: [{ code: "image_prohibited_content", message: "The output is not allowed." }] },
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a failure without a reason", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "failed" },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a failure without a status", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, error: { code: "api_error", message: "An unexpected error occurred." } },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an incomplete interaction", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "incomplete", steps: [ASKED] },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an interaction that requires a continuation", of: "poll", job: ID, status: 200 },
    body: { ...ABOUT, status: "requires_continuation", continuation_token: "dG9rZW4", steps: [ASKED] },
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown interaction", of: "poll", job: ID, status: 404 },
    body: { error: { message: "Requested entity was not found.", code: "not_found" } },
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a wrong key during a poll", of: "poll", job: ID, status: 401 },
    body: { error: { message: "The API key is invalid.", code: "authentication" } },
    outcome: { kind: "unclear" },
  },
];

export const geminiVideo: DialectCase[] = [
  {
    ...{ provider: "gemini-video", endpoint: "gemini-omni-1.2-flash", recorded, lost: "unclear" },
    // A refusal is a completed interaction with text, which looks like one without a file.
    differs: { refuse: "failed refused_output", "no-file": "failed refused_output" },
    input: {
      ...{ prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
      image_url: "https://files.example/fox.png",
    },
    understood: {
      ...{ resolution: "720p", duration: 5, aspect_ratio: "16:9" },
      image_url: "https://files.example/fox.png",
    },
  },
];
