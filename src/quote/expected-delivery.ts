// Derives the expected delivery of a request from model, input and measurements.
import { ASPECT_PERCENT, type OwnSize, SHARE, SHORT } from "../../catalogue/delivery-rules.ts";
import { CLIP_FIELDS, MEDIA_FIELDS, type MediaField } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import { type Ordered, ratioOf } from "../domain/delivery-check.ts";
import type { JsonObject, Measured } from "../domain/types.ts";
import { measuredOf } from "./check-field.ts";
import type { CheckedInput } from "./check-input.ts";

/** Video classes: shorter side, and pixels at 16:9. */
const CLASSES = [
  { side: 2160, pixels: 8_294_400 },
  { side: 1080, pixels: 2_073_600 },
  { side: 720, pixels: 921_600 },
  { side: 480, pixels: 409_920 },
] as const;
/** Sizes with a name other than their shorter side; 1K of a video is no class. */
const NAMED_SIDES: Readonly<Record<string, number>> = { "4k": 2160 };

/** The class of a resolution: its own, or the next lower one (768p is at least 720p). */
const classOf = (resolution: unknown) => {
  if (typeof resolution !== "string") return undefined;
  const [, declared] = /^(\d{3,4})p$/i.exec(resolution) ?? [];
  const side = declared === undefined ? NAMED_SIDES[resolution.toLowerCase()] : Number(declared);
  return side === undefined ? undefined : CLASSES.find((one) => one.side <= side);
};

/** A longer delivery than this beyond the billed length is logged. */
const LONG = { s: 1, percent: 10 } as const;

const sumOf = (measured: readonly Measured[], name: MediaField): number =>
  Math.round(measuredOf(measured, name).reduce((sum, { ms = 0, pictureMs = ms }) => sum + pictureMs, 0));

/** Expected length in milliseconds: as ordered, or of the input that it follows. Undefined if neither is known. */
const orderedMs = (model: Model, { filled }: CheckedInput, measured: readonly Measured[]): number | undefined => {
  const came = CLIP_FIELDS.filter((name) => Object.hasOwn(filled, name));
  const lengthOf = (name: MediaField) => sumOf(measured, name) || undefined;
  const followed = (["video_url", "audio_url"] as const).filter((name) => came.includes(name));
  // A lip-sync lasts as long as there are both a face and a voice.
  if (model.tasks.includes("lip-sync") && followed.length === 2) {
    const lengths = followed.map(lengthOf);
    return lengths.includes(undefined) ? undefined : Math.min(...lengths.map(Number));
  }
  const output = came.find((name) => model.price.clips[name] === "is_output");
  if (output) return lengthOf(output);
  if (typeof filled.duration === "number") return filled.duration * 1000;
  const [follows] = model.kind === "video" ? followed : [];
  return follows && lengthOf(follows);
};

const lengthIn = (model: Model, checked: CheckedInput, measured: readonly Measured[]): Partial<Ordered> => {
  const { length = {} } = model.delivers;
  if (model.kind === "image" || length === false) return {};
  const ms = orderedMs(model, checked, measured);
  if (ms === undefined || ms <= 0) return {};
  const { short_s = SHORT.s, short_percent = SHORT.percent } = length;
  const leastMs = Math.max(1, Math.floor(ms - Math.max(short_s * 1000, (ms * short_percent) / 100)));
  const mostMs = Math.ceil(ms + Math.max(LONG.s * 1000, (ms * LONG.percent) / 100));
  return { ms, leastMs, ...(model.price.unit === "second" ? { mostMs } : {}) };
};

const rowFor = (rows: readonly OwnSize[], filled: JsonObject): OwnSize | undefined =>
  rows.find(({ when = {} }) => Object.entries(when).every(([name, value]) => filled[name] === value));

const sizeIn = (model: Model, { filled }: CheckedInput): Partial<Ordered> => {
  if (model.kind === "audio") return {};
  const { resolution = {}, size = [] } = model.delivers;
  const own = rowFor(size, filled);
  const requested = model.kind === "video" && resolution !== false ? classOf(filled.resolution) : undefined;
  const { pixels = SHARE.pixels, side = SHARE.side } = resolution || {};
  return {
    ...(requested ? { leastPixels: Math.floor(requested.pixels * pixels), leastSide: Math.floor(requested.side * side) } : {}),
    ...(own?.pixels === undefined ? {} : { ownPixels: own.pixels }),
    ...(own?.side === undefined ? {} : { ownSide: own.side }),
  };
};

/** Input fields that determine the aspect ratio. */
const SHAPING = (Object.keys(MEDIA_FIELDS) as MediaField[]).filter((name) => MEDIA_FIELDS[name].kind !== "audio");

/**
 * Only what the caller set: a default is the model's choice, and an input frame, clip or reference may determine another ratio.
 */
const aspectIn = (model: Model, { raw }: CheckedInput): Partial<Ordered> => {
  const { aspect_ratio: requested } = raw;
  const { aspect = { percent: ASPECT_PERCENT } } = model.delivers;
  if (model.kind === "audio" || aspect === false || typeof requested !== "string" || ratioOf(requested) === undefined) return {};
  if (SHAPING.some((name) => Object.hasOwn(raw, name))) return {};
  return { aspect: requested, aspectOff: aspect.percent / 100 };
};

/** A default is promised by the options of the model, so it counts like a requested format. */
const formatIn = ({ filled: { output_format: format } }: CheckedInput): Partial<Ordered> =>
  typeof format === "string" ? { format } : {};

/** The expected delivery of a request. */
export const orderedOf = (model: Model, checked: CheckedInput, measured: readonly Measured[]): Ordered => ({
  kind: model.kind,
  ...(model.files > 1 ? { files: model.files } : {}),
  ...(model.files > 1 && model.delivers.all_files ? { allFiles: true as const } : {}),
  ...lengthIn(model, checked, measured),
  ...sizeIn(model, checked),
  ...aspectIn(model, checked),
  ...formatIn(checked),
  ...(model.kind === "video" && checked.filled.audio === true && model.delivers.sound !== false ? { sound: true as const } : {}),
});
