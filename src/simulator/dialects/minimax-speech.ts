// Simulates MiniMax's speech (T2A v2) as documented.
//
// The response contains the sound; errors are HTTP 200 with a code.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, credentialOf, type DialectResponses, type Problem, takeIn } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, numberOf } from "../faults.ts";
import { bodyObject, isObject, json, page, type Reply } from "../http-server.ts";
import type { Job } from "../jobs.ts";

const MAX_TEXT = 10_000;
/** Longer than any client waits for a job that never ends. */
const NEVER_MS = 3_600_000;

const newTrace = () => randomBytes(16).toString("hex");
const declared = (code: number, message: string, trace = newTrace()): Reply =>
  json(200, { base_resp: { status_code: code, status_msg: message }, trace_id: trace });

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return declared(1004, "login fail: Please carry the API secret key in the 'Authorization' field of the request header");
    case "402":
      return declared(1008, "insufficient balance");
    case "403":
      return declared(2061, "your current token plan not support model");
    case "404":
      return declared(2013, "invalid params, the model is not supported");
    case "429":
      return declared(1002, "rate limit, please retry later");
    default:
      return page(numberOf(fault, "status"), "Service Unavailable");
  }
};

const invalid = ([first]: readonly Problem[]): Reply =>
  declared(2013, first?.field == null ? "invalid params, empty field" : `invalid params, ${first.field}: ${first.message}`);

const inputOf = ({ model, text, voice_setting: voice, audio_setting: audio }: JsonObject): JsonObject | undefined => {
  if (typeof model !== "string" || typeof text !== "string" || text === "" || text.length > MAX_TEXT) return undefined;
  // A voice is required.
  if (!isObject(voice) || typeof voice.voice_id !== "string" || voice.voice_id === "") return undefined;
  return {
    text,
    voice_setting: voice,
    output_format: isObject(audio) && typeof audio.format === "string" ? audio.format : "mp3",
  };
};

/** The result of an accepted text. */
const resultOf = async (bench: Bench, job: Job, body: JsonObject, origin: string): Promise<Reply> => {
  const { run } = job.faults;
  if (isFault(run, "refuse")) return declared(1026, "input new_sensitive", job.id);
  if (isFault(run, "refuse-output", "withheld")) return declared(1027, "output new_sensitive", job.id);
  if (isFault(run, "fail", "fail-later")) return declared(1000, "unknown error", job.id);
  if (isFault(run, "aborted")) return declared(1001, "request timeout", job.id);
  const success = { trace_id: job.id, base_resp: { status_code: 0, status_msg: "success" } };
  const [file] = await bench.results.hand(job);
  if (!file) return json(200, { data: { audio: "", status: 2 }, ...success });
  const [announced] = body.output_format === "url" ? await bench.results.announce(job, origin) : [];
  const text = String(job.input.text);
  return json(200, {
    data: { audio: announced?.url ?? Buffer.from(file.bytes).toString("hex"), status: 2 },
    extra_info: {
      ...{ audio_length: text.length * 66, audio_sample_rate: 32_000, audio_size: file.bytes.length, bitrate: 128_000 },
      ...{ word_count: text.split(/\s+/).length, invisible_character_ratio: 0, usage_characters: text.length },
      ...{ audio_format: job.input.output_format ?? "mp3", audio_channel: 1 },
    },
    ...success,
  });
};

const wordsFor = (bench: Bench): DialectResponses => ({
  provider: "minimax-speech",
  checksAtOnce: true,
  newId: newTrace,
  inputOf,
  accepted: async (job, request) => ({
    ...(await resultOf(bench, job, bodyObject(request) ?? {}, request.origin)),
    delayMs: job.plan.totalMs ?? NEVER_MS,
  }),
  withoutId: () => json(200, { base_resp: { status_code: 0, status_msg: "success" } }),
  refused,
  invalid,
});

/** Handles a request below MiniMax's speech path. */
export const handleMinimaxSpeech: DialectHandler = async (bench, request, path) => {
  if (path !== "/v1/t2a_v2" || request.method !== "POST") return page(404, "Not Found");
  const model = bodyObject(request)?.model;
  return takeIn(bench, wordsFor(bench), request, typeof model === "string" ? model : "", credentialOf(request, "Bearer"));
};
