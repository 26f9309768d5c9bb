// Dialect cases of ElevenLabs speech and music: recorded responses, and their deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const recorded: Recorded[] = [
  {
    ...{ name: "speech in the response body", of: "submit", status: 200, body: "" },
    headers: { "content-type": "audio/mpeg", "request-id": "LKuCJ7jRMGrBvcLuAQIi", "character-cost": "13" },
    bytes: new Uint8Array([0x49, 0x44, 0x33]),
    outcome: { kind: "announced", job: { jobId: "LKuCJ7jRMGrBvcLuAQIi" }, results: [{ url: "data:audio/mpeg;base64,SUQz" }] },
  },
  {
    ...{ name: "a song with its id in another header", of: "submit", status: 200, body: "" },
    headers: { "content-type": "audio/mpeg", "song-id": "RLJ3wWjNvYGqQvUKTt2q" },
    bytes: new Uint8Array([0x49, 0x44, 0x33]),
    outcome: { kind: "announced", job: { jobId: "RLJ3wWjNvYGqQvUKTt2q" } },
  },
  {
    ...{ name: "an invalid parameter", of: "submit", status: 400 },
    body: {
      detail: {
        type: "validation_error",
        code: "invalid_parameters",
        message: "The 'keyterms' parameter is only supported with the 'scribe_v2' model. You specified 'scribe_v1'.",
        status: "invalid_parameters",
        request_id: "3c807fc4c3a1705f9638ecc764a91c01",
        param: "keyterms",
      },
    },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a missing field, reported by the web framework", of: "submit", status: 422 },
    body: { detail: [{ type: "missing", loc: ["body", "text"], msg: "Field required" }] },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route", detail: "422: Field required" } },
  },
  {
    ...{ name: "a text that violates the terms", of: "submit", status: 403 },
    body: {
      detail: {
        status: "content_against_policy",
        message: "We are sorry but text you are trying to use may violate our Terms of Service and has been blocked.",
      },
    },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a prompt for a song in the style of an artist", of: "submit", status: 400 },
    body: {
      detail: {
        status: "bad_prompt",
        message: "Your prompt appears to have violated our Terms of Service. Please try again with a different prompt.",
        data: { prompt_suggestion: "A cinematic orchestral piece with an emotional piano intro building to epic strings." },
      },
    },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "too few credits", of: "submit", status: 402 },
    body: {
      detail: {
        ...{ type: "payment_required", code: "insufficient_credits", status: "insufficient_credits" },
        message: "Your account does not have enough credits for this operation.",
      },
    },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an exhausted quota", of: "submit", status: 401 },
    body: { detail: { status: "quota_exceeded", message: "This request exceeds your quota of 10000." } },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: { detail: { status: "invalid_api_key", message: "Invalid API key" } },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "an unknown voice", of: "submit", status: 404 },
    body: { detail: { status: "voice_not_found", message: "A voice with the voice_id foo was not found." } },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a busy system", of: "submit", status: 429 },
    body: { detail: { type: "rate_limit_error", code: "system_busy", status: "system_busy", message: "Try again later." } },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an internal error", of: "submit", status: 500 },
    body: { detail: { type: "internal_error", code: "internal_error", message: "An unexpected error occurred." } },
    outcome: { kind: "ambiguous" },
  },
];

/** The audio is the whole response: it is never withheld, and there are no input links. */
const SYNCHRONOUS = {
  ...{ "refuse-output": null, withheld: null, "input-unreachable": null },
  // A call that ended with status 500 may have been billed.
  ...{ fail: "ambiguous", "fail-later": "ambiguous", "no-file": "ambiguous" },
} as const;

export const elevenlabs: DialectCase[] = [
  {
    ...{ provider: "elevenlabs", endpoint: "text-to-speech/JBFqnCBsd6RMkjVDRZzb", recorded, lost: "unclear" },
    ...{ options: { fields: { prompt: "text" }, constants: { model_id: "eleven_v3" } }, differs: SYNCHRONOUS },
    ...{ input: { prompt: "a fox in snow" }, understood: { output_format: "mp3" } },
  },
  {
    ...{ provider: "elevenlabs", endpoint: "music", recorded: [], lost: "unclear" },
    ...{ options: { constants: { music_length_ms: 3000 } }, differs: SYNCHRONOUS },
    ...{ input: { prompt: "a fox in snow" }, understood: { output_format: "mp3", duration: 3 } },
  },
];
