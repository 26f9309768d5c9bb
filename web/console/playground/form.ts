// Builds the form of a model from its options and converts its texts to the input.
import { type FieldName, isMediaField, MEDIA_FIELDS } from "../../../catalogue/fields.ts";
import type { EntryOption, ModelEntry } from "../../../catalogue/public-model.ts";
import type { Json, JsonObject, MediaKind } from "../../../src/domain/types.ts";
import { words } from "../../words/console-words.ts";

export type FormField = {
  name: string;
  option: EntryOption;
  /** `links`: one URL per line. */
  kind: "text" | "choice" | "range" | "link" | "links";
  /** The kind of media that the field takes; null for all other fields. */
  media: MediaKind | null;
};
/** Text of each field; an empty field is omitted. */
export type Values = Readonly<Record<string, string>>;

const kindOf = (name: string, option: EntryOption): FormField["kind"] => {
  if (option.values) return "choice";
  if (option.max_length !== undefined) return "text";
  if (option.max_items !== undefined) return name.endsWith("s") ? "links" : "link";
  return "range";
};

const mediaOf = (name: string): MediaKind | null => {
  const field = name as FieldName;
  return isMediaField(field) ? MEDIA_FIELDS[field].kind : null;
};

export const fieldsOf = (model: ModelEntry): FormField[] =>
  Object.entries(model.options).map(([name, option]) => ({ name, option, kind: kindOf(name, option), media: mediaOf(name) }));

/** The fields that take a file of a kind, required ones first. */
export const fieldsFor = (model: ModelEntry, kind: MediaKind): FormField[] =>
  fieldsOf(model)
    .filter(({ media }) => media === kind)
    .sort((a, b) => Number(b.option.required === true) - Number(a.option.required === true));

/** The links and stored files that a media field names. */
export const linksIn = (text: string): string[] => text.split("\n").flatMap((line) => line.trim() || []);

/** Puts a stored file into a media field: a single one is replaced. */
export const withLink = ({ kind }: FormField, text: string, link: string): string =>
  kind === "links" ? [...linksIn(text), link].join("\n") : link;
export const withoutLink = (text: string, link: string): string =>
  linksIn(text)
    .filter((one) => one !== link)
    .join("\n");

/** Up to 6 choices are shown side by side; more are a drop-down list. */
export const isSegmented = ({ option }: FormField): boolean => (option.values?.length ?? 0) <= 6;

/** The name of a field on the pages: `image_url` → `Image` */
export const titleOf = (name: string): string => {
  const known = Object.entries(words.fields).find(([field]) => field === name)?.[1];
  return known ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
};

export const startValues = (model: ModelEntry): Values =>
  Object.fromEntries(
    fieldsOf(model).flatMap(({ name, option }) => (option.default === undefined ? [] : [[name, String(option.default)]])),
  );

/** Converts a submitted input to form values. */
export const valuesFrom = (model: ModelEntry, input: JsonObject): Values => ({
  ...startValues(model),
  ...Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, Array.isArray(value) ? value.join("\n") : String(value)]),
  ),
});

const meantBy = ({ kind, option }: FormField, text: string): Json => {
  if (kind === "choice") return option.values?.find((value) => String(value) === text) ?? text;
  // A text that is no number is sent unchanged; the service rejects it with its own message.
  if (kind === "range") return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  if (kind === "links") return linksIn(text);
  return kind === "link" ? text.trim() : text;
};

/**
 * Converts form values to the input. Defaults are omitted, because some are not allowed together with other fields and the
 * service adds the others.
 */
export const inputOf = (model: ModelEntry, values: Values): JsonObject =>
  Object.fromEntries(
    fieldsOf(model).flatMap((field) => {
      const text = values[field.name] ?? "";
      const isDefault = field.option.default !== undefined && String(field.option.default) === text;
      return text.trim() === "" || isDefault ? [] : [[field.name, meantBy(field, text)]];
    }),
  );

/** Required fields that are empty. */
export const missingOf = (model: ModelEntry, values: Values): string[] =>
  fieldsOf(model).flatMap(({ name, option }) => (option.required && (values[name] ?? "").trim() === "" ? [name] : []));

/** Length as the API counts it. */
export const lengthOf = (text: string): number => [...text].length;
