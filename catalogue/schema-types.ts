// The building blocks of the schema of model files: texts, numbers, and one type per kind of input field.
import { type TLiteral, type TSchema, Type } from "@sinclair/typebox";
import { BACKGROUNDS, BOUNDS, FIELD_NAMES, type FieldName, OUTPUT_FORMATS } from "./fields.ts";

export const closed = { additionalProperties: false } as const;
export const oneOf = <T extends string>(words: readonly T[]) => {
  const literals: TLiteral<T>[] = words.map((word) => Type.Literal(word));
  return Type.Union(literals, { description: `one of ${words.join(", ")}` });
};
export const count = (minimum: number, maximum: number) =>
  Type.Integer({ minimum, maximum, description: `a whole number from ${minimum} to ${maximum}` });
export const seconds = count(1, 86_400);
const word = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,39}$", description: "a word of at most 40 characters" });
/** The name of a voice. Providers use spaces and brackets in names. */
const voiceName = Type.String({
  pattern: "^[A-Za-z0-9](?:[A-Za-z0-9 ._:()'-]{0,98}[A-Za-z0-9.)])?$",
  description: "a name of at most 100 letters, digits, spaces and . _ : ( ) ' -",
});
const languageCode = Type.String({
  pattern: "^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}$",
  description: "a language code such as en or pt-BR",
});
export const scalar = Type.Union([word, Type.Integer(), Type.Boolean()], {
  description: "a word, a whole number, true or false",
});
/** Values to which a route can narrow a choice. */
export const choiceValue = Type.Union([word, voiceName, Type.Integer(), Type.Boolean()], {
  description: "one of the values that the model offers",
});
export const fieldName = oneOf(FIELD_NAMES);

/** Members of every field: whether it is required, the fields that it requires, and the fields that it excludes. */
const relations = {
  required: Type.Optional(Type.Boolean({ description: "true or false: a request must have the field" })),
  requires: Type.Optional(
    Type.Array(fieldName, { minItems: 1, uniqueItems: true, description: "fields that must be there too" }),
  ),
  excludes: Type.Optional(
    Type.Array(fieldName, { minItems: 1, uniqueItems: true, description: "fields that it cannot be combined with, either way" }),
  ),
};
const text = (maximum: number) => Type.Object({ max_length: count(1, maximum), ...relations }, closed);
const range = (bounds: { min: number; max: number }) => {
  const number = count(bounds.min, bounds.max);
  return Type.Object({ min: number, max: number, default: Type.Optional(number), ...relations }, closed);
};
const decimals = (bounds: { min: number; max: number }) => {
  const number = Type.Number({
    minimum: bounds.min,
    maximum: bounds.max,
    description: `a number from ${bounds.min} to ${bounds.max}`,
  });
  return Type.Object({ min: number, max: number, default: Type.Optional(number), ...relations }, closed);
};
const choice = (item: TSchema) =>
  Type.Object(
    {
      values: Type.Array(item, { minItems: 1, maxItems: BOUNDS.choices, uniqueItems: true }),
      default: Type.Optional(item),
      ...relations,
    },
    closed,
  );
const pictures = (maximum: number) => Type.Object({ max_items: count(1, maximum), ...relations }, closed);
const clips = (maximum: number) =>
  Type.Object(
    {
      max_items: count(1, maximum),
      min_s: Type.Optional(seconds),
      max_s: Type.Optional(seconds),
      max_total_s: Type.Optional(seconds),
      ...relations,
    },
    closed,
  );

type Relations = { required?: boolean; requires?: FieldName[]; excludes?: FieldName[] };
export type Scalar = string | number | boolean;
/** `max_length` counts Unicode code points. */
export type TextField = { max_length: number } & Relations;
/** Numbers from `min` to `max`, both inclusive: whole numbers, except in the decimal fields. */
export type RangeField = { min: number; max: number; default?: number } & Relations;
export type ChoiceField = { values: Scalar[]; default?: Scalar } & Relations;
/** Links. `min_s` and `max_s` bound the measured length of each clip, `max_total_s` the total. */
export type LinkField = { max_items: number; min_s?: number; max_s?: number; max_total_s?: number } & Relations;
/** One accepted input field. Its kind follows from the member `max_length`, `max_items`, `values` or `min`. */
export type Field = TextField | RangeField | ChoiceField | LinkField;

export const FieldsSchema = Type.Object(
  {
    prompt: Type.Optional(text(BOUNDS.promptLength)),
    negative_prompt: Type.Optional(text(BOUNDS.negativePromptLength)),
    image_url: Type.Optional(pictures(1)),
    end_image_url: Type.Optional(pictures(1)),
    image_urls: Type.Optional(pictures(BOUNDS.imageItems)),
    video_url: Type.Optional(clips(1)),
    video_urls: Type.Optional(clips(BOUNDS.clipItems)),
    audio_url: Type.Optional(clips(1)),
    audio_urls: Type.Optional(clips(BOUNDS.clipItems)),
    resolution: Type.Optional(choice(word)),
    aspect_ratio: Type.Optional(choice(word)),
    duration: Type.Optional(
      Type.Union([range(BOUNDS.durationS.common), choice(count(1, BOUNDS.durationS.common.max))], {
        description: "whole seconds: { min, max, default } or { values, default }, from 1 to 300",
      }),
    ),
    audio: Type.Optional(choice(Type.Boolean())),
    quality: Type.Optional(choice(word)),
    seed: Type.Optional(range(BOUNDS.seed)),
    voice: Type.Optional(choice(voiceName)),
    language: Type.Optional(choice(languageCode)),
    speed: Type.Optional(decimals(BOUNDS.speed)),
    output_format: Type.Optional(choice(oneOf([...OUTPUT_FORMATS.image, ...OUTPUT_FORMATS.audio]))),
    background: Type.Optional(choice(oneOf(BACKGROUNDS))),
    mask_url: Type.Optional(pictures(1)),
  },
  { ...closed, description: "one member per input field that the model takes" },
);
