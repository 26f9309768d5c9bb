// Simulates ElevenLabs' speech, sound effects and music as documented.
//
// Each response is the sound itself; errors are under `detail`.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, type DialectResponses, type Problem, takeIn, whenDone } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, numberOf } from "../faults.ts";
import { type Answer, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import type { Job } from "../jobs.ts";

const SPEECH = /^text-to-speech\/[A-Za-z0-9]+$/;
const EFFECTS = "sound-generation";
const MUSIC = "music";
const FORMATS = /^(mp3_\d+_\d+|wav_\d+|opus_48000_\d+)$/;
/** A song is from three seconds to ten minutes long. */
const SONG_MS = [3_000, 600_000] as const;
const EFFECT_S = [0.5, 30] as const;
const SPEED = [0.7, 1.2] as const;

/** The required text field. */
const neededBy = (endpoint: string) => (endpoint === MUSIC ? "prompt" : "text");

const idOf = () => randomBytes(16).toString("hex");

/** `code` identifies the error; `status` is its older name and still sent. */
const failed = (status: number, type: string, code: string, message: string, param?: string): Reply =>
  json(status, {
    detail: { type, code, message, status: code, request_id: idOf(), ...(param === undefined ? {} : { param }) },
  });

const refusedFor =
  (hasKey: boolean) =>
  (fault: Fault): Reply => {
    switch (fault.name) {
      case "401":
        return hasKey
          ? failed(401, "authentication_error", "invalid_api_key", "The provided API key is invalid.")
          : failed(401, "authentication_error", "missing_api_key", "No API key was provided in the request.");
      case "402":
        return failed(402, "payment_required", "insufficient_credits", "Your account does not have enough credits.");
      case "403":
        return failed(403, "authorization_error", "model_access_denied", "You do not have access to this model.");
      case "404":
        return failed(404, "not_found", "model_not_found", "The specified model does not exist.");
      case "429":
        return failed(429, "rate_limit_error", "concurrent_limit_exceeded", "Maximum number of concurrent requests exceeded.");
      default:
        return page(numberOf(fault, "status"), "Error");
    }
  };

/** The web framework reports its errors as a list with 422, the service as its other errors. */
const invalidFor =
  (endpoint: string) =>
  (problems: readonly Problem[]): Reply => {
    const [first] = problems;
    if (first?.type === "value_error")
      return failed(400, "validation_error", "invalid_parameters", first.message, first.field ?? undefined);
    const detail = problems.map(({ field, message, type }) => {
      const name = type === "missing" ? neededBy(endpoint) : field;
      return { type, loc: ["body", ...(name === null ? [] : [name])], msg: message };
    });
    return json(422, { detail });
  };

const lengthOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** The text of a composition plan, which can replace a prompt. */
const planned = (plan: unknown): string | undefined => {
  if (!isObject(plan)) return undefined;
  const styles = plan.positive_global_styles;
  return Array.isArray(styles) ? styles.join(", ") : "as planned";
};

/** A request in the common field names; the format is in its URL, not in its body. */
const inputFor =
  (endpoint: string, format: string) =>
  (body: JsonObject): JsonObject => {
    const output_format = format.split("_")[0] ?? "mp3";
    const seed = body.seed === undefined ? {} : { seed: body.seed };
    if (endpoint !== MUSIC) {
      const seconds = endpoint === EFFECTS ? lengthOf(body.duration_seconds) : undefined;
      const text = body.text === undefined ? {} : { text: body.text };
      const settings = isObject(body.voice_settings) ? { voice_settings: body.voice_settings } : {};
      return { ...text, ...seed, ...settings, output_format, ...(seconds === undefined ? {} : { duration: seconds }) };
    }
    const prompt = body.prompt ?? planned(body.composition_plan);
    const ms = lengthOf(body.music_length_ms);
    return { ...(prompt == null ? {} : { prompt }), ...seed, output_format, duration: (ms ?? 30_000) / 1000 };
  };

const problemsOf =
  (endpoint: string, format: string) =>
  (body: JsonObject): Problem[] => {
    const needed = neededBy(endpoint);
    const wrong = (field: string, message: string): Problem[] => [{ field, message, type: "value_error" }];
    const outside = (field: string, [least, most]: readonly [number, number]): Problem[] => {
      const value = body[field];
      if (value === undefined || value === null) return [];
      const isWithin = typeof value === "number" && value >= least && value <= most;
      return isWithin ? [] : wrong(field, `'${field}' must be from ${least} to ${most}.`);
    };
    const speedProblem = (settings: unknown): Problem[] => {
      const speed = isObject(settings) ? settings.speed : undefined;
      const isWithin = typeof speed === "number" && speed >= SPEED[0] && speed <= SPEED[1];
      return speed === undefined || isWithin ? [] : wrong("voice_settings", `Speed must be between ${SPEED[0]} and ${SPEED[1]}.`);
    };
    return [
      ...(body[needed] === "" ? wrong(needed, `The ${needed} field cannot be empty.`) : []),
      ...(body.model_id !== undefined && typeof body.model_id !== "string"
        ? [{ field: "model_id", message: "Input should be a valid string", type: "string_type" }]
        : []),
      ...speedProblem(body.voice_settings),
      ...(FORMATS.test(format) ? [] : wrong("output_format", `The requested output format ${format} is not supported.`)),
      ...(endpoint === EFFECTS ? outside("duration_seconds", EFFECT_S) : []),
      ...(endpoint === MUSIC ? outside("music_length_ms", SONG_MS) : []),
    ];
  };

/** Speech and music refuse with different texts and codes. */
const refusal = (job: Job): Reply => {
  if (job.endpoint !== MUSIC) {
    const message = "We are sorry but text you are trying to use may violate our Terms of Service and has been blocked.";
    return json(403, { detail: { status: "content_against_policy", message } });
  }
  const message = "Your prompt appears to have violated our Terms of Service. Please try again with a different prompt.";
  const advice = { prompt_suggestion: "A cinematic orchestral piece with an emotional piano intro." };
  return json(400, { detail: { status: "bad_prompt", message, data: advice } });
};

const resultOf = async (bench: Bench, job: Job): Promise<Reply> => {
  const { run } = job.faults;
  if (isFault(run, "refuse")) return refusal(job);
  if (isFault(run, "fail", "fail-later", "aborted"))
    return failed(500, "internal_error", "internal_error", "An unexpected error occurred. Contact support if this persists.");
  const [file] = await bench.results.hand(job);
  const named = job.endpoint === MUSIC ? { "song-id": job.id } : { "request-id": job.id };
  const cost = String(String(job.input.text ?? "").length);
  const headers = { "content-type": file?.mime ?? "audio/mpeg", ...named, "character-cost": cost };
  return { kind: "reply", status: 200, headers, body: file?.bytes ?? "" };
};

/** Handles a request below the base path. */
export const handleElevenLabs: DialectHandler = async (
  bench: Bench,
  request: SimulatorRequest,
  path: string,
): Promise<Answer> => {
  const endpoint = path.replace(/^\/v1\//, "");
  if (!path.startsWith("/v1/") || !(SPEECH.test(endpoint) || endpoint === EFFECTS || endpoint === MUSIC))
    return json(404, { detail: "Not Found" });
  if (request.method !== "POST") return json(405, { detail: "Method Not Allowed" });
  const key = request.headers["xi-api-key"]?.trim() || undefined;
  const format = request.query.get("output_format") ?? "mp3_44100_128";
  const words: DialectResponses = {
    provider: "elevenlabs",
    checksAtOnce: true,
    newId: idOf,
    inputOf: inputFor(endpoint, format),
    complaints: problemsOf(endpoint, format),
    accepted: async (job) => whenDone(job, await resultOf(bench, job)),
    withoutId: () => ({ kind: "reply", status: 200, headers: { "content-type": "audio/mpeg" }, body: "" }),
    refused: refusedFor(key !== undefined),
    invalid: invalidFor(endpoint),
  };
  return takeIn(bench, words, request, endpoint, key);
};
