// The input fields of the API (§2.6, §2.7 and §2.9): their names in the order of validation, their types, and their widest bounds.
import type { MediaKind } from "../src/domain/types.ts";

/** Every input field. Fields are validated, listed and reported in this order. */
export const FIELD_NAMES = [
  "prompt",
  "negative_prompt",
  "image_url",
  "end_image_url",
  "image_urls",
  "video_url",
  "video_urls",
  "audio_url",
  "audio_urls",
  "resolution",
  "aspect_ratio",
  "duration",
  "audio",
  "quality",
  "seed",
  "voice",
  "language",
  "speed",
  "output_format",
  "background",
  "mask_url",
] as const;
export type FieldName = (typeof FIELD_NAMES)[number];

/** The two kinds of input of the API; each has its own set of fields. */
export const INPUT_KINDS = ["extended", "common"] as const;
export type InputKind = (typeof INPUT_KINDS)[number];
const COMMON_ONLY: readonly FieldName[] = ["negative_prompt", "audio_url", "quality", "seed"];
const EXTENDED_ONLY: readonly FieldName[] = ["video_urls", "audio_urls"];
/** Fields beyond the specification (§2.9). The extended input has none of them. */
export const ADDED_FIELDS: readonly FieldName[] = ["voice", "language", "speed", "output_format", "background", "mask_url"];
export const INPUT_FIELDS: Readonly<Record<InputKind, readonly FieldName[]>> = {
  extended: FIELD_NAMES.filter((name) => !COMMON_ONLY.includes(name) && !ADDED_FIELDS.includes(name)),
  common: FIELD_NAMES.filter((name) => !EXTENDED_ONLY.includes(name)),
};

/** Fields that hold links: the kind of media, and whether the field holds a list. */
export const MEDIA_FIELDS = {
  image_url: { kind: "image", isList: false },
  end_image_url: { kind: "image", isList: false },
  image_urls: { kind: "image", isList: true },
  video_url: { kind: "video", isList: false },
  video_urls: { kind: "video", isList: true },
  audio_url: { kind: "audio", isList: false },
  audio_urls: { kind: "audio", isList: true },
  mask_url: { kind: "image", isList: false },
} as const satisfies Partial<Record<FieldName, { kind: MediaKind; isList: boolean }>>;
export type MediaField = keyof typeof MEDIA_FIELDS;
export const isMediaField = (name: FieldName): name is MediaField => Object.hasOwn(MEDIA_FIELDS, name);

/** Fields whose media has a length that can be measured. */
export const CLIP_FIELDS = ["video_url", "video_urls", "audio_url", "audio_urls"] as const;
export type ClipField = (typeof CLIP_FIELDS)[number];

/** Fields with images that may be billed per image; a mask is part of its image. */
export const PICTURE_FIELDS = ["image_url", "end_image_url", "image_urls"] as const;

/** Ranges whose values can have decimals; all other ranges have whole numbers. */
const DECIMAL_FIELDS: readonly string[] = ["speed"] satisfies FieldName[];
export const isDecimalField = (name: string): boolean => DECIMAL_FIELDS.includes(name);

/** Formats of result files that can be requested, by the kind of the model; `opus` is an Ogg file. Videos have none. */
export const OUTPUT_FORMATS = {
  image: ["png", "jpeg", "webp"],
  audio: ["mp3", "wav", "flac", "opus"],
  video: [],
} as const satisfies Record<MediaKind, readonly string[]>;
export const BACKGROUNDS = ["opaque", "transparent"] as const;
/** Formats without transparency. */
export const OPAQUE_FORMATS: readonly unknown[] = ["jpeg"];

/** Fields that a price may depend on. */
export const PRICED_FIELDS = ["resolution", "aspect_ratio", "duration", "audio", "quality"] as const;
export type PricedField = (typeof PRICED_FIELDS)[number];

/** §8: the widest bounds that a model may offer. */
export const BOUNDS = {
  promptLength: 30_000,
  negativePromptLength: 5_000,
  linkLength: 4_096,
  imageItems: 30,
  clipItems: 10,
  durationS: { common: { min: 1, max: 300 }, extended: { min: 4, max: 30 } },
  seed: { min: 0, max: 4_294_967_295 },
  speed: { min: 0.1, max: 10 },
  choices: 1_000,
  /** Maximum time of one attempt, seconds. */
  routeS: 2_400,
  /** Maximum number of files of one result: `/content/{n}` ends at 99. */
  files: 99,
} as const;
