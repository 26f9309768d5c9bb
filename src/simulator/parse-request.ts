// Parses a request: kind, number, size, length, sound and format.
//
// It accepts the field names of all dialects.
import type { Json, JsonObject, MediaKind } from "../domain/types.ts";
import type { Sources } from "./input-files.ts";
import type { Sketch } from "./media-factory.ts";
import { clipSize, evenSize, parsedSize, pictureSize, ratioOf, type Size } from "./resolutions.ts";
import type { FileFormat } from "./watermark.ts";

/** The kind of result of an endpoint; undefined if the endpoint's name does not determine it. */
export type KindOf = (endpoint: string) => MediaKind | undefined;
/** The catalogue's defaults of an endpoint for values that its requests omit. */
export type DefaultsOf = (endpoint: string) => JsonObject;
export type ParsedRequest = { kind: MediaKind; count: number; sketch: Sketch };

const DEFAULT_CLIP_MS = 5000;
const MAX_MS = 600_000;
/** Spoken text: about fifteen characters a second. */
const MS_PER_CHARACTER = 66;

const NAMES: readonly (readonly [RegExp, MediaKind])[] = [
  [/lip-?sync|avatar|talking|video|seedance|vidmodel|veo|kling|wan\b|hailuo|sora/i, "video"],
  [/speech|tts|audio|voice|music|sound|song/i, "audio"],
  [/image|picture|photo|edit|upscal|flux|banana|seedream|diffusion|esrgan/i, "image"],
];

/** The kind from the endpoint's name alone. */
export const kindByName: KindOf = (endpoint) => NAMES.find(([name]) => name.test(endpoint))?.[1];

/** The kind from the request itself: `videoInference`. */
const requestedKind = ({ task_type }: JsonObject): MediaKind | undefined =>
  (["video", "image", "audio"] as const).find((kind) => task_type === `${kind}Inference`);

const kindByFields = (input: JsonObject): MediaKind => {
  if ("duration" in input || "generate_audio" in input || "video_url" in input || "video" in input) return "video";
  return "text" in input && !("prompt" in input) ? "audio" : "image";
};

const first = (input: JsonObject, ...names: string[]) => names.map((name) => input[name]).find((value) => value != null);

/** The first text under any of these names, usually a link; of a list, its first item. */
const link = (input: JsonObject, ...names: string[]): string | undefined => {
  const found = first(input, ...names);
  const one = Array.isArray(found) ? found[0] : found;
  return typeof one === "string" ? one : undefined;
};

const pictureOf = (input: JsonObject) =>
  link(input, "image_url", "image", "input_image", "image_urls", "reference_images", "start_image", "first_frame_image");
const clipOf = (input: JsonObject) => link(input, "video_url", "video", "input_video");
const soundOf = (input: JsonObject) => link(input, "audio_url", "audio", "input_audio");

const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value[name] : undefined;

const positive = (value: unknown): number | undefined => {
  const n = typeof value === "string" && value.trim() !== "" ? Number.parseFloat(value) : value;
  return typeof n === "number" && Number.isFinite(n) && n > 0 ? n : undefined;
};

const formatOf = (kind: MediaKind, declared: unknown): FileFormat => {
  if (kind === "video") return "mp4";
  const name = typeof declared === "string" ? declared.toLowerCase() : "";
  if (kind === "audio") {
    if (name.startsWith("wav") || name.startsWith("pcm")) return "wav";
    if (name === "flac") return "flac";
    return name.startsWith("opus") ? "opus" : "mp3";
  }
  if (name === "webp") return "webp";
  return name === "jpeg" || name === "jpg" ? "jpeg" : "png";
};

const countOf = (input: JsonObject) =>
  Math.min(16, Math.max(1, Math.floor(positive(first(input, "num_images", "num_outputs", "n")) ?? 1)));
const requestedSeconds = (input: JsonObject): number | undefined => {
  const ms = positive(input.music_length_ms);
  return positive(first(input, "duration", "seconds", "duration_seconds", "seconds_total")) ?? (ms && ms / 1000);
};

/** Defaults of models whose endpoint determines resolution or length. */
const HABITS: readonly (readonly [endpoint: RegExp, { resolution?: string; seconds?: number }])[] = [
  [/hailuo-?2\.3.*pro/i, { resolution: "1080p", seconds: 6 }],
  [/kling.*(pro|v2\.6)/i, { resolution: "1080p" }],
];
const habitOf = (endpoint: string, { mode }: JsonObject): { resolution?: string; seconds?: number } =>
  HABITS.find(([known]) => known.test(endpoint))?.[1] ?? (mode === "pro" ? { resolution: "1080p" } : {});

/** The speed of speech, at the top or in the settings of the voice. */
const speedOf = (input: JsonObject): number =>
  positive(input.speed ?? memberOf(first(input, "voice_setting", "voice_settings"), "speed")) ?? 1;

/** The properties that the request alone determines, without reading a file. They suffice to plan the job's duration. */
export const glance = (endpoint: string, input: JsonObject, kindOf: KindOf) => ({
  kind: requestedKind(input) ?? kindOf(endpoint) ?? kindByName(endpoint) ?? kindByFields(input),
  count: countOf(input),
  lengthMs: Math.min(MAX_MS, (requestedSeconds(input) ?? habitOf(endpoint, input).seconds ?? DEFAULT_CLIP_MS / 1000) * 1000),
});

/**
 * The requested aspect ratio. `auto`, `adaptive` and a missing value follow the input; without input, 16:9 for clips and 1:1 for
 * images.
 */
const shapeOf = async (
  sources: Sources,
  input: JsonObject,
  kind: MediaKind,
  source: Partial<Size> | undefined,
): Promise<number> => {
  const declared = first(input, "aspect_ratio", "ratio");
  const shown = ratioOf(declared);
  if (shown !== undefined) return shown;
  if (source?.width && source.height) return source.width / source.height;
  const picture = pictureOf(input);
  const shape = picture === undefined ? undefined : await sources.picture(picture);
  if (shape) return shape.width / shape.height;
  return kind === "image" && declared === undefined ? 1 : 16 / 9;
};

const pictureRequest = async (sources: Sources, input: JsonObject, endpoint: string): Promise<Size> => {
  const declared = parsedSize(input.image_size) ?? parsedSize(input.size) ?? parsedSize(input);
  if (declared) return declared;
  const source = pictureOf(input);
  if (source !== undefined && /upscal|esrgan/i.test(endpoint)) {
    const shape = await sources.picture(source);
    const factor = positive(first(input, "upscale_factor", "scale", "upscaling_factor")) ?? 2;
    if (shape && input.resolution === undefined) return evenSize({ width: shape.width * factor, height: shape.height * factor });
  }
  return pictureSize(first(input, "resolution") ?? "1K", await shapeOf(sources, input, "image", undefined));
};

/**
 * Parses a request. Links to this machine are read (within a few seconds); others never. The length is `duration` in seconds,
 * else that of the source clip, else that of the sound, else 5 s. Spoken text has the length of its speech.
 */
export const parseRequest = async (
  endpoint: string,
  input: JsonObject,
  kindOf: KindOf,
  sources: Sources,
): Promise<ParsedRequest> => {
  const { kind, count } = glance(endpoint, input, kindOf);
  const declared = first(input, "output_format", "format", "audio_format") ?? memberOf(input.audio_setting, "format");
  const format = formatOf(kind, declared);
  const requestedS = requestedSeconds(input);

  if (kind === "image") {
    const size = await pictureRequest(sources, input, endpoint);
    return { kind, count, sketch: { format, ...size, ms: 0, sound: false } };
  }
  if (kind === "audio") {
    const text = link(input, "text", "prompt", "input") ?? "";
    const spokenMs = (text.length * MS_PER_CHARACTER) / speedOf(input);
    const ms = requestedS === undefined ? Math.min(120_000, Math.max(1000, spokenMs)) : requestedS * 1000;
    return { kind, count: 1, sketch: { format, width: 0, height: 0, ms: Math.min(MAX_MS, Math.round(ms)), sound: true } };
  }
  // A request without a length and with a single clip is an edit of that clip.
  const clip = clipOf(input) ?? (requestedS === undefined ? link(input, "video_urls", "reference_videos") : undefined);
  const voice = soundOf(input);
  const source = clip === undefined ? undefined : await sources.clip(clip);
  const spoken = source === undefined && voice !== undefined ? await sources.clip(voice) : undefined;
  const habit = habitOf(endpoint, input);
  const usualMs = habit.seconds === undefined ? DEFAULT_CLIP_MS : habit.seconds * 1000;
  const ms = requestedS === undefined ? (source?.ms ?? spoken?.ms ?? usualMs) : requestedS * 1000;
  const requested = first(input, "generate_audio", "with_audio", "audio", "sound", "generate_audio_switch");
  const sound =
    typeof requested === "boolean" ? requested : voice !== undefined || (clip !== undefined && (source?.sound ?? false));
  const resolution = first(input, "resolution");
  const keepsSize = resolution === undefined && ratioOf(first(input, "aspect_ratio", "ratio")) === undefined;
  const size =
    keepsSize && source?.width && source.height
      ? evenSize({ width: source.width, height: source.height })
      : clipSize(resolution ?? habit.resolution ?? "720p", await shapeOf(sources, input, kind, source));
  return { kind, count: 1, sketch: { format, ...size, ms: Math.min(MAX_MS, Math.round(ms)), sound } };
};
