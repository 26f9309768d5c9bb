// Finds the pinned links of an input, and replaces them.
import { CLIP_FIELDS, MEDIA_FIELDS } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Json, JsonObject, Measured, PinRequest } from "../domain/types.ts";

/** A clip that states no frame rate is taken to have 24 frames per second. */
const FRAME_MS = 42;
/** Frame rates in a file are untrusted. This maximum keeps a file that claims one frame per second from a larger tolerance. */
const MAX_OFF_MS = 100;

/** The fields of an input that hold clips whose length is billed. */
export const billedFields = ({ price }: Pick<Model, "price">, input: JsonObject): string[] =>
  CLIP_FIELDS.filter((name) => price.clips[name] !== undefined && Object.hasOwn(input, name)).map((name) => `input.${name}`);

/** Whether an input has a field that can hold pinned links. False means that nothing has to be read. */
export const mayHavePins = (input: JsonObject): boolean => CLIP_FIELDS.some((name) => Object.hasOwn(input, name));

/** Whether an input has a field that can name stored files. */
export const mayHaveFiles = (input: JsonObject): boolean => Object.keys(MEDIA_FIELDS).some((name) => Object.hasOwn(input, name));

const isIn = (fields: readonly string[], { field }: Measured) => fields.includes(field.replace(/\[\d+\]$/, ""));

/** The measured links to pin: each link whose length is billed, once. */
export const pinsOf = (model: Pick<Model, "price">, input: JsonObject, measured: readonly Measured[]): PinRequest[] => {
  const fields = billedFields(model, input);
  const first = new Map<string, Measured>();
  for (const one of measured) if (isIn(fields, one) && !first.has(one.url)) first.set(one.url, one);
  return [...first.values()].map(({ field, kind, ms = 0, frameMs = FRAME_MS }, at) => ({
    ...{ n: at + 1, field, measuredMs: Math.ceil(ms) },
    kind: kind === "audio" ? "audio" : "video",
    frameMs: Math.min(MAX_OFF_MS, Math.max(1, Math.ceil(frameMs))),
  }));
};

/** The link at a path of the input, for example `input.video_urls[0]`. */
export const linkAt = (input: JsonObject, field: string): string | undefined => {
  const [, name = "", at] = /^input\.(\w+)(?:\[(\d+)\])?$/.exec(field) ?? [];
  const value = Object.hasOwn(input, name) ? input[name] : undefined;
  const link = at === undefined ? value : Array.isArray(value) ? value[Number(at)] : undefined;
  return typeof link === "string" ? link : undefined;
};

type Inputs = { raw: JsonObject; filled: JsonObject };

/** Returns the input with some links replaced by other texts; all else is unchanged. */
export const withLinks = ({ raw, filled }: Inputs, others: Readonly<Record<string, string>>): Inputs => {
  const other = (value: Json): Json =>
    typeof value === "string" && Object.hasOwn(others, value) ? (others[value] ?? value) : value;
  const changed = (input: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(input).map(([name, value]) => {
        if (!Object.hasOwn(MEDIA_FIELDS, name)) return [name, value];
        return [name, Array.isArray(value) ? value.map(other) : other(value)];
      }),
    );
  return { raw: changed(raw), filled: changed(filled) };
};
