// Schema of `input` for the OpenAPI document: the fields of §2.6, §2.7 and §2.9 in one object.
//
// One object, because generators of clients drop members of a union. It has no defaults, because a generated client would send
// them. The options of a model narrow it, and `GET /v1/models/{id}/schema` is exact.
import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { BACKGROUNDS, BOUNDS, type FieldName, OUTPUT_FORMATS } from "../../../catalogue/fields.ts";
import { EXTENSION } from "./components.ts";

const LINK = "A public https URL that downloads directly, or a stored file (`file_…`, `gen_…/1`).";
const link = (description: string) => Type.String({ maxLength: BOUNDS.linkLength, description: `${description} ${LINK}` });
const links = (maxItems: number, description: string) =>
  Type.Array(Type.String({ maxLength: BOUNDS.linkLength, description: LINK }), { minItems: 1, maxItems, description });
const word = (description: string) => Type.String({ description });
const optional = <T extends TProperties>(properties: T) => Type.Partial(Type.Object(properties)).properties;

/** Every input field in the order of its checks. */
const FIELDS: Readonly<Record<FieldName, TSchema>> = {
  prompt: Type.String({
    minLength: 1,
    maxLength: BOUNDS.promptLength,
    description: "Required unless the model only transforms media. Counted in Unicode code points.",
  }),
  negative_prompt: Type.String({ maxLength: BOUNDS.negativePromptLength, description: "What the result must not show." }),
  image_url: link("Start frame, or image to edit."),
  end_image_url: link("Last frame. Requires `image_url`."),
  image_urls: links(BOUNDS.imageItems, "Reference images. The options of the model state the maximum number."),
  video_url: link("A clip to transform, extend or upscale. Its measured length may be billed."),
  video_urls: links(BOUNDS.clipItems, "Reference clips. Their seconds are billed at the video-input rate."),
  audio_url: link("Audio for a talking-avatar or lip-sync model."),
  audio_urls: links(BOUNDS.clipItems, "Reference audio."),
  resolution: word("One of the model's resolutions."),
  aspect_ratio: word("One of the model's aspect ratios."),
  duration: Type.Integer({
    minimum: BOUNDS.durationS.common.min,
    maximum: BOUNDS.durationS.common.max,
    description: "Seconds; one of the model's durations.",
  }),
  audio: Type.Boolean({ description: "Generate audio. It changes the price of some models." }),
  quality: word("Quality tier, on models that are priced by quality."),
  seed: Type.Integer({
    format: "int64",
    minimum: BOUNDS.seed.min,
    maximum: BOUNDS.seed.max,
    description: "The same seed and input give a similar result.",
  }),
  voice: Type.String({ ...EXTENSION, description: "One of the model's voices." }),
  language: Type.String({ ...EXTENSION, description: "Language of the text, such as `en`; one of the model's languages." }),
  speed: Type.Number({
    ...EXTENSION,
    minimum: BOUNDS.speed.min,
    maximum: BOUNDS.speed.max,
    description: "Speed of the speech, within the model's bounds; 1 is normal.",
  }),
  output_format: Type.Unsafe<string>({
    ...EXTENSION,
    type: "string",
    enum: [...OUTPUT_FORMATS.image, ...OUTPUT_FORMATS.audio],
    description: "Format of the result files; one of the model's formats. `opus` is an Ogg file.",
  }),
  background: Type.Unsafe<string>({
    ...EXTENSION,
    type: "string",
    enum: [...BACKGROUNDS],
    description: "Background of a picture. `transparent` needs the output format `png` or `webp`.",
  }),
  mask_url: Type.String({
    ...EXTENSION,
    maxLength: BOUNDS.linkLength,
    description: `Part of \`image_url\` to edit: a picture of the same size. Requires \`image_url\`. ${LINK}`,
  }),
};

/** The input of every model. */
export const Input = Type.Object(optional(FIELDS), {
  additionalProperties: false,
  description:
    "Input of a model. Each model takes a subset of the fields, which its `options` list with their values and defaults. `vidmodel-2.5` takes the extended input (§2.6), every other model the common input (§2.7). Other fields are rejected.",
});
