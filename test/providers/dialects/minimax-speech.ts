// MiniMax's speech: bodies from its pages, and where it differs from most.
import type { DialectCase, Recorded } from "./contract.ts";

const TRACE = "01b8bf9bb7433cc75c18eee6cfa8fe21";

/** Errors come with status 200. */
const refusal = (name: string, code: number, message: string, outcome: object): Recorded => ({
  ...{ name, of: "submit", status: 200, outcome },
  body: { base_resp: { status_code: code, status_msg: message }, trace_id: TRACE },
});
const rejected = (failureClass: string) => ({ kind: "rejected", failure: { class: failureClass } });

const recorded: Recorded[] = [
  {
    ...{ name: "a text that was spoken", of: "submit", status: 200 },
    body: {
      data: { audio: "494433040000", status: 2 },
      extra_info: {
        ...{ audio_length: 9900, audio_sample_rate: 32000, audio_size: 160323, bitrate: 128000, word_count: 52 },
        ...{ invisible_character_ratio: 0, usage_characters: 26, audio_format: "mp3", audio_channel: 1 },
      },
      trace_id: TRACE,
      base_resp: { status_code: 0, status_msg: "success" },
    },
    outcome: {
      kind: "announced",
      job: { jobId: TRACE },
      results: [{ url: "data:audio/mpeg;base64,SUQzBAAA", mime: "audio/mpeg" }],
    },
  },
  refusal(
    "a key in the wrong place",
    1004,
    "login fail: Please carry the API secret key in the 'Authorization' field of the request header",
    rejected("config_fault"),
  ),
  refusal("a key that is none", 2049, "invalid api key", rejected("config_fault")),
  refusal("a model that is not in the plan", 2061, "your current token plan not support model, X", rejected("config_fault")),
  refusal("an empty balance", 1008, "insufficient balance", rejected("balance")),
  refusal("a plan that is used up", 2056, "usage limit exceeded", rejected("balance")),
  refusal("too many requests", 1002, "rate limit", rejected("rate_limited")),
  refusal("too many characters a minute", 1039, "token limit", rejected("rate_limited")),
  refusal("words that it refuses", 1026, "input new_sensitive", rejected("refused_input")),
  refusal("sound that it holds back", 1027, "output new_sensitive", rejected("refused_output")),
  refusal("a parameter that is none", 2013, "invalid params", rejected("invalid_for_route")),
  refusal("a text that cannot be seen", 1042, "invisible character ratio limit", rejected("invalid_for_route")),
  // It asks to try again later, and nothing says whether it was paid for.
  refusal("a fault of its own", 1000, "unknown error", { kind: "ambiguous" }),
  refusal("a work that took too long", 1001, "request timeout", { kind: "ambiguous" }),
];

export const minimaxSpeech: DialectCase[] = [
  {
    ...{ provider: "minimax-speech", endpoint: "speech-2.8-hd", recorded, lost: "unclear" },
    options: { values: { voice: "English_expressive_narrator" } },
    differs: {
      "404": "rejected invalid_for_route",
      // What failed on its side, and a success without a sound, may have been paid for.
      fail: "ambiguous",
      "fail-later": "ambiguous",
      "no-file": "ambiguous",
      // Nothing but a text goes in.
      "input-unreachable": null,
    },
    input: { prompt: "A fox runs through the snow." },
  },
];
