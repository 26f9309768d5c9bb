// Dialect case of MiniMax speech: recorded responses from its documentation, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const TRACE = "01b8bf9bb7433cc75c18eee6cfa8fe21";

/** Errors have status 200. */
const error = (name: string, code: number, message: string, outcome: object): Recorded => ({
  ...{ name, of: "submit", status: 200, outcome },
  body: { base_resp: { status_code: code, status_msg: message }, trace_id: TRACE },
});
const rejected = (failureClass: string) => ({ kind: "rejected", failure: { class: failureClass } });

const recorded: Recorded[] = [
  {
    ...{ name: "finished speech", of: "submit", status: 200 },
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
  error(
    "a missing key header",
    1004,
    "login fail: Please carry the API secret key in the 'Authorization' field of the request header",
    rejected("config_fault"),
  ),
  error("an invalid key", 2049, "invalid api key", rejected("config_fault")),
  error("a model that is not in the plan", 2061, "your current token plan not support model, X", rejected("config_fault")),
  error("an empty balance", 1008, "insufficient balance", rejected("balance")),
  error("an exhausted plan", 2056, "usage limit exceeded", rejected("balance")),
  error("too many requests", 1002, "rate limit", rejected("rate_limited")),
  error("too many characters per minute", 1039, "token limit", rejected("rate_limited")),
  error("a refused text", 1026, "input new_sensitive", rejected("refused_input")),
  error("withheld audio", 1027, "output new_sensitive", rejected("refused_output")),
  error("an invalid parameter", 2013, "invalid params", rejected("invalid_for_route")),
  error("a text of invisible characters", 1042, "invisible character ratio limit", rejected("invalid_for_route")),
  // It says to retry later, and does not report whether it billed the request.
  error("an internal error", 1000, "unknown error", { kind: "ambiguous" }),
  error("a timeout", 1001, "request timeout", { kind: "ambiguous" }),
];

export const minimaxSpeech: DialectCase[] = [
  {
    ...{ provider: "minimax-speech", endpoint: "speech-2.8-hd", recorded, lost: "unclear" },
    options: { values: { voice: "English_expressive_narrator" } },
    differs: {
      "404": "rejected invalid_for_route",
      // An internal failure and a success without audio may have been billed.
      fail: "ambiguous",
      "fail-later": "ambiguous",
      "no-file": "ambiguous",
      // The only input is a text.
      "input-unreachable": null,
    },
    input: { prompt: "A fox runs through the snow." },
  },
];
