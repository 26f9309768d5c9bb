// Dialect case of Google's image models: recorded responses, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUg==";
const ABOUT = {
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1290, totalTokenCount: 1299 },
  modelVersion: "gemini-3-pro-image",
  responseId: "7TBPaMzKGbyTmtkPjf2MqQc",
};

const recorded: Recorded[] = [
  {
    ...{ name: "an image after a text part", of: "submit", status: 200 },
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
    ...{ name: "an image after thought parts with text and images", of: "submit", status: 200 },
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
    ...{ name: "only thought parts", of: "submit", status: 200 },
    body: {
      candidates: [
        { content: { parts: [{ inlineData: { mimeType: "image/png", data: PNG }, thought: true }] }, finishReason: "STOP" },
      ],
      ...ABOUT,
    },
    outcome: { kind: "rejected", failure: { class: "refused_output", isBilled: true } },
  },
  {
    ...{ name: "a block for an unknown reason", of: "submit", status: 200 },
    body: { promptFeedback: { blockReason: "SOMETHING_NEW" } },
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a blocked prompt", of: "submit", status: 200 },
    body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 9 } },
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a withheld image", of: "submit", status: 200 },
    body: {
      candidates: [{ content: { parts: [{ text: "I can't make that." }] }, finishReason: "IMAGE_SAFETY", index: 0 }],
      ...ABOUT,
    },
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a refusal as text", of: "submit", status: 200 },
    body: {
      candidates: [{ content: { parts: [{ text: "I can't create that." }], role: "model" }, finishReason: "STOP", index: 0 }],
      ...ABOUT,
    },
    outcome: { kind: "rejected", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 400 },
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
    ...{ name: "a missing key", of: "submit", status: 403 },
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
    ...{ name: "an exhausted balance", of: "submit", status: 429 },
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
    ...{ name: "an input image that it cannot fetch", of: "submit", status: 400 },
    body: { error: { code: 400, message: "Cannot fetch content from the provided URL.", status: "INVALID_ARGUMENT" } },
    outcome: { kind: "rejected", failure: { class: "input_unreachable" } },
  },
  {
    ...{ name: "an overloaded model, which is not billed", of: "submit", status: 503 },
    body: { error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" } },
    outcome: { kind: "rejected", failure: { class: "overloaded" } },
  },
  {
    ...{ name: "an expired deadline", of: "submit", status: 504 },
    body: { error: { code: 504, message: "Deadline expired before operation could complete.", status: "DEADLINE_EXCEEDED" } },
    outcome: { kind: "ambiguous" },
  },
];

export const gemini: DialectCase[] = [
  {
    ...{ provider: "gemini", endpoint: "gemini-3-pro-image", recorded, lost: "unclear" },
    // A response without an image cannot be distinguished from a refusal as text.
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
