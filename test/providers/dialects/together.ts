// Dialect case of Together AI images: recorded responses, and its deviations as a synchronous provider.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "oFuwv7Y-2kFHot-99170ebf9e84e0ce-SJC";
const MODEL = "black-forest-labs/FLUX.1-schnell";
const JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQ==";

/** An error in Together's format, mostly without a code. */
const error = (message: string, type = "invalid_request_error", code: string | null = null) => ({
  id: "oMZbc7k-2kFHot-9a78aa608b7f797c-PDX",
  error: { message, type, param: null, code },
});

const recorded: Recorded[] = [
  {
    ...{ name: "an image in the response", of: "submit", status: 200 },
    body: {
      ...{ id: ID, model: MODEL, object: "list" },
      data: [{ index: 0, b64_json: JPEG, type: "b64_json", timings: { inference: 0.799 } }],
    },
    outcome: {
      kind: "announced",
      job: { jobId: ID },
      results: [{ url: `data:application/octet-stream;base64,${JPEG}` }],
    },
  },
  {
    ...{ name: "an image URL although the image was requested in the response", of: "submit", status: 200 },
    body: { id: ID, model: MODEL, data: [{ index: 0, url: "https://api.together.ai/v1/images/fox" }] },
    outcome: { kind: "announced", job: { jobId: ID }, results: [{ url: "https://api.together.ai/v1/images/fox" }] },
  },
  {
    ...{ name: "a response without an image", of: "submit", status: 200 },
    body: { id: ID, model: MODEL, object: "list", data: [] },
    outcome: { kind: "rejected", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unsupported parameter", of: "submit", status: 400 },
    body: error("Unsupported use of 'image_url' parameter. This parameter is not supported for the selected model."),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an image that the model vendor withheld, reported only by its message", of: "submit", status: 400 },
    body: error(
      "Invalid content detected. The generated content was flagged and rejected by Black Forest Labs's content moderation system",
    ),
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "an image that the content checker withheld", of: "submit", status: 422 },
    body: error("image may contain NSFW content"),
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a refused prompt", of: "submit", status: 400 },
    body: error("The prompt was flagged.", "content_policy_violation"),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "too many requests, with the error type of an empty account", of: "submit", status: 429 },
    body: error("You have been rate limited. Your rate limit is 60 queries per minute.", "credit_limit"),
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an empty account", of: "submit", status: 402 },
    body: error("Credit limit exceeded.", "credit_limit"),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: error("Invalid API key provided.", "invalid_request_error", "invalid_api_key"),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an unknown model", of: "submit", status: 404 },
    body: error("Unable to access model bad model.", "invalid_request_error", "model_not_available"),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a server error", of: "submit", status: 500 },
    body: error("Internal server error", "server_error"),
    outcome: { kind: "ambiguous" },
  },
];

export const together: DialectCase[] = [
  {
    ...{ provider: "together", endpoint: MODEL, recorded, lost: "unclear" },
    options: {
      fields: { resolution: null, aspect_ratio: null, image_urls: "reference_images" },
      constants: { steps: 4 },
      values: { widths: { "1K 16:9": 1344 }, heights: { "1K 16:9": 768 } },
    },
    input: {
      ...{ prompt: "a fox in snow", resolution: "1K", aspect_ratio: "16:9", seed: 7 },
      image_urls: ["https://media.example/fox.png"],
    },
    differs: {
      // The response has the image, so its missing id does not matter; the fault removes the image.
      "no-id": "rejected job_failed",
      "no-file": "rejected job_failed",
      // Its response to an unreachable image is undocumented, so it counts as an invalid parameter.
      "input-unreachable": "rejected invalid_for_route",
      // A failed generation has status 500, which may also come from a gateway.
      fail: "ambiguous",
      "fail-later": "ambiguous",
    },
  },
];
