// Google's picture models: bodies from its pages and as others saw them, and where it differs from most.
import type { DialectCase, Recorded } from "./contract.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUg==";
const ABOUT = {
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1290, totalTokenCount: 1299 },
  modelVersion: "gemini-3-pro-image",
  responseId: "7TBPaMzKGbyTmtkPjf2MqQc",
};

const recorded: Recorded[] = [
  {
    ...{ name: "a picture behind some words", of: "submit", status: 200 },
    body: {
      candidates: [
        {
          content: {
            parts: [
              { text: "Here is your picture." },
              { inlineData: { mimeType: "image/png", data: PNG }, thoughtSignature: "EjQKMgER" },
            ],
            role: "model",
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      ...ABOUT,
    },
    outcome: {
      kind: "announced",
      job: { jobId: ABOUT.responseId },
      results: [{ url: `data:image/png;base64,${PNG}`, mime: "image/png" }],
    },
  },
  {
    ...{ name: "a picture behind thoughts in words and pictures", of: "submit", status: 200 },
    body: {
      candidates: [
        {
          content: {
            parts: [
              { text: "A draft first.", thought: true },
              { inlineData: { mimeType: "image/jpeg", data: "/9j/4AAQ" }, thought: true },
              { inlineData: { mimeType: "image/png", data: PNG }, thoughtSignature: "EjQKMgER" },
            ],
            role: "model",
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      ...ABOUT,
    },
    outcome: {
      kind: "announced",
      job: { jobId: ABOUT.responseId },
      results: [{ url: `data:image/png;base64,${PNG}`, mime: "image/png" }],
    },
  },
  {
    ...{ name: "thoughts alone", of: "submit", status: 200 },
    body: {
      candidates: [
        { content: { parts: [{ inlineData: { mimeType: "image/png", data: PNG }, thought: true }] }, finishReason: "STOP" },
      ],
      ...ABOUT,
    },
    outcome: { kind: "rejected", failure: { class: "refused_output", isBilled: true } },
  },
  {
    ...{ name: "a block for a reason that nobody has heard of", of: "submit", status: 200 },
    body: { promptFeedback: { blockReason: "SOMETHING_NEW" } },
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a prompt that is blocked, in a 200", of: "submit", status: 200 },
    body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 9 } },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a picture that is withheld, in a 200", of: "submit", status: 200 },
    body: {
      candidates: [{ content: { parts: [{ text: "I can't make that." }] }, finishReason: "IMAGE_SAFETY", index: 0 }],
      ...ABOUT,
    },
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a refusal in words alone", of: "submit", status: 200 },
    body: {
      candidates: [{ content: { parts: [{ text: "I can't create that." }], role: "model" }, finishReason: "STOP", index: 0 }],
      ...ABOUT,
    },
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a wrong key, although it is a 400 like any bad argument", of: "submit", status: 400 },
    body: {
      error: {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "API_KEY_INVALID",
            domain: "googleapis.com",
            metadata: { service: "generativelanguage.googleapis.com" },
          },
          { "@type": "type.googleapis.com/google.rpc.LocalizedMessage", locale: "en-US", message: "API key not valid." },
        ],
      },
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "no key at all", of: "submit", status: 403 },
    body: {
      error: {
        code: 403,
        message: "Method doesn't allow unregistered callers (callers without established identity).",
        status: "PERMISSION_DENIED",
      },
    },
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a used-up balance, although it is a 429", of: "submit", status: 429 },
    body: {
      error: {
        code: 429,
        message: "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
        status: "RESOURCE_EXHAUSTED",
      },
    },
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: {
      error: {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }],
      },
    },
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "a model of another API", of: "submit", status: 400 },
    body: { error: { code: 400, message: "This model only supports Interactions API.", status: "INVALID_ARGUMENT" } },
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "an input picture that cannot be fetched", of: "submit", status: 400 },
    body: { error: { code: 400, message: "Cannot fetch content from the provided URL.", status: "INVALID_ARGUMENT" } },
    outcome: { kind: "rejected", failure: { class: "input_unreachable" } },
  },
  {
    ...{ name: "a model that is overloaded: nothing was made, nothing is charged", of: "submit", status: 503 },
    body: { error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" } },
    outcome: { kind: "rejected", failure: { class: "overloaded" } },
  },
  {
    ...{ name: "a request that ran out of time", of: "submit", status: 504 },
    body: { error: { code: 504, message: "Deadline expired before operation could complete.", status: "DEADLINE_EXCEEDED" } },
    outcome: { kind: "ambiguous" },
  },
];

export const gemini: DialectCase[] = [
  {
    ...{ provider: "gemini", endpoint: "gemini-3-pro-image", recorded, lost: "unclear" },
    // An answer without a picture is a refusal in words: nothing in it tells one from the other.
    differs: { "no-file": "rejected refused_output" },
    options: { values: { sizes: { "1k": "1K", "2k": "2K" } } },
    input: {
      prompt: "a fox in snow",
      resolution: "1k",
      aspect_ratio: "16:9",
      image_urls: ["https://files.example/fox.png"],
      seed: 7,
    },
    understood: { resolution: "1K", aspect_ratio: "16:9", image_urls: ["https://files.example/fox.png"], seed: 7 },
  },
];
