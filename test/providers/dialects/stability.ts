// Dialect case of Stability images: recorded responses, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const PNG = "iVBORw0KGgo=";
const ID = "21c6b49145908e78f5c3c98d7c0020bb";

const recorded: Recorded[] = [
  {
    ...{ name: "an image", of: "submit", status: 200 },
    headers: { "content-type": "application/json; type=image/png", "x-request-id": ID },
    body: { image: PNG, finish_reason: "SUCCESS", seed: 1234 },
    outcome: { kind: "announced", job: { jobId: ID }, results: [{ url: `data:image/png;base64,${PNG}`, mime: "image/png" }] },
  },
  {
    ...{ name: "a withheld (blurred) image", of: "submit", status: 200 },
    body: { image: PNG, finish_reason: "CONTENT_FILTERED", seed: 1 },
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a refused prompt", of: "submit", status: 403 },
    body: { id: ID, name: "content_moderation", errors: ["Your request was flagged by our content moderation system"] },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a body that is not a form", of: "submit", status: 400 },
    body: { errors: ["content-type: must be multipart/form-data"], id: ID, name: "bad_request" },
    outcome: {
      kind: "rejected",
      failure: { class: "invalid_for_route", detail: "400: bad_request content-type: must be multipart/form-data" },
    },
  },
  {
    ...{ name: "a too large request", of: "submit", status: 413 },
    body: { id: ID, name: "payload_too_large", errors: ["body: is larger than 10MiB"] },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: { name: "unauthorized", errors: ["bad key"] },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "too few credits", of: "submit", status: 402 },
    body: { id: ID, name: "payment_required", errors: ["You lack sufficient credits to make this request."] },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: { id: ID, name: "rate_limit_exceeded", errors: ["You have exceeded the rate limit of 150 requests in 10 seconds."] },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an internal error", of: "submit", status: 500 },
    body: { id: ID, name: "internal_error", errors: ["An unexpected server error has occurred, please try again later."] },
    outcome: { kind: "ambiguous" },
  },
];

export const stability: DialectCase[] = [
  {
    ...{ provider: "stability", endpoint: "core", recorded, lost: "unclear" },
    differs: {
      // Images are sent in the form, so there are no input links.
      "input-unreachable": null,
      // A call that ended with status 500 may have been billed.
      ...{ fail: "ambiguous", "fail-later": "ambiguous", "no-file": "ambiguous" },
    },
    input: { prompt: "a fox in snow", aspect_ratio: "16:9", seed: 7 },
    understood: { aspect_ratio: "16:9", seed: 7, output_format: "png" },
  },
];
