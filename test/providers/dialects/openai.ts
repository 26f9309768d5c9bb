// Dialect case of OpenAI images: recorded responses, and its deviations as a synchronous provider.
import type { DialectCase, Recorded } from "./contract.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/** An error in OpenAI's format. */
const error = (code: string | null, type: string, message: string, more: object = {}) => ({
  error: { message, type, param: null, code, ...more },
});

const recorded: Recorded[] = [
  {
    ...{ name: "an image", of: "submit", status: 200 },
    body: {
      ...{ created: 1713833628, background: "opaque", output_format: "png", size: "1024x1024", quality: "high" },
      data: [{ b64_json: PNG }],
      usage: {
        ...{ total_tokens: 100, input_tokens: 50, output_tokens: 50 },
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      },
    },
    // The response has no job id, so our reference is used.
    outcome: {
      kind: "announced",
      job: { jobId: "0k3v9x2m-1" },
      results: [{ url: `data:image/png;base64,${PNG}`, mime: "image/png" }],
    },
  },
  {
    ...{ name: "a response without an image", of: "submit", status: 200 },
    body: { created: 1713833628, data: [] },
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a request that the safety system refused", of: "submit", status: 400 },
    body: error(
      "moderation_blocked",
      "image_generation_user_error",
      "Your request was rejected by the safety system. safety_violations=[sexual].",
    ),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "an image that the safety system withheld", of: "submit", status: 400 },
    body: error("moderation_blocked", "image_generation_user_error", "Your request was rejected by the safety system.", {
      moderation_details: { moderation_stage: "output", categories: ["violence"] },
    }),
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a too large size, with the error type of a refusal", of: "submit", status: 400 },
    body: error(
      "invalid_value",
      "image_generation_user_error",
      "Invalid size '4096x4096'. The longest edge must be less than or equal to 3840.",
    ),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429, headers: { "retry-after": "12" } },
    body: error(
      "rate_limit_exceeded",
      "input-images",
      "Rate limit reached for gpt-image-2 on input-images per min: Limit 5, Used 5, Requested 1. Please try again in 12s.",
    ),
    outcome: { kind: "rejected", failure: { class: "rate_limited", retryAfterMs: 12_000 } },
  },
  {
    ...{ name: "an account without credit", of: "submit", status: 429 },
    body: error(
      "insufficient_quota",
      "insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details.",
    ),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a project at its spending limit", of: "submit", status: 429 },
    body: error("project_spend_limit_exceeded", "insufficient_quota", "The project has reached its spend limit."),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: error("invalid_api_key", "invalid_request_error", "Incorrect API key provided: sk-x."),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an unverified organization", of: "submit", status: 403 },
    body: error(null, "invalid_request_error", "Your organization must be verified to use the model `gpt-image-2`."),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a retired model", of: "submit", status: 404 },
    body: error("model_not_found", "invalid_request_error", "The model `gpt-image-1` does not exist."),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a server error", of: "submit", status: 500 },
    body: error("server_error", "server_error", "The server had an error while processing your request."),
    outcome: { kind: "ambiguous" },
  },
];

export const openai: DialectCase[] = [
  {
    ...{ provider: "openai", endpoint: "images", recorded, lost: "unclear" },
    options: {
      endpoints: [
        { when: ["image_urls"], path: "edits" },
        { when: [], path: "generations" },
      ],
      values: { model: "gpt-image-2", sizes: { "1K 16:9": "1536x864" } },
    },
    input: {
      ...{ prompt: "a fox in snow", resolution: "1K", aspect_ratio: "16:9", quality: "low" },
      image_urls: ["https://media.example/fox.png"],
    },
    differs: {
      // It withholds an image as a success without an image.
      "no-file": "rejected refused_output",
      // A failed generation has status 500, which may also come from a gateway.
      fail: "ambiguous",
      "fail-later": "ambiguous",
    },
  },
];
