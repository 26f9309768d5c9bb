// Checks a request's input against its model (§2.6, §2.7, §8): why a request was refused with 422 `invalid_input`.
import { CLIP_FIELDS, type FieldName, INPUT_FIELDS, isMediaField, MEDIA_FIELDS } from "../../catalogue/fields.ts";
import { fieldsOf, isLink } from "../../catalogue/reach.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Field } from "../../catalogue/shapes.ts";
import { refuse } from "../refusal.ts";
import type { Json, JsonObject, Measured, MediaLink } from "../terms.ts";
import { clipFault, fieldFault, measuredOf } from "./field.ts";
import { type AllowsHost, linkFault } from "./links.ts";
import { quote } from "./words.ts";

/**
 * An input that its model takes. `raw` is as sent, `filled` has the defaults too, `links` are its media URLs in the order
 * of checking. Items of lists are named `input.image_urls[0]`.
 */
export type CheckedInput = { raw: JsonObject; filled: JsonObject; links: MediaLink[] };

/**
 * Checks an input in a fixed order: names that are not known (by code unit), then each field in the order of
 * `FIELD_NAMES`, then fields that are missing, then fields that need or exclude one another.
 * @param allowsHost whether the operator allows `host:port` over http and on any port.
 * @throws the refusal `invalid_input` naming the first field that is wrong, and what is allowed.
 */
export const checkInput = (model: Model, input: JsonObject, allowsHost: AllowsHost): CheckedInput => {
  checkNames(model, input);
  const raw: JsonObject = {};
  const links: MediaLink[] = [];
  for (const [name, field] of fieldsOf(model)) {
    const value = own(input, name);
    if (value === undefined) continue;
    const fault = fieldFault(name, field, value, `by ${model.id}`);
    if (fault) refuse("invalid_input", `input.${name}: ${fault}`);
    links.push(...checkLinks(name, value, allowsHost));
    raw[name] = value;
  }
  checkRelations(model, raw);
  return { raw, filled: fill(model, raw), links };
};

/** A member of the object itself: `constructor` and the like are never found. */
const own = (input: JsonObject, name: string): Json | undefined => (Object.hasOwn(input, name) ? input[name] : undefined);

const checkNames = (model: Model, input: JsonObject): void => {
  const takes: readonly string[] = fieldsOf(model).map(([name]) => name);
  const [unknown] = Object.keys(input)
    .filter((name) => !takes.includes(name))
    .sort();
  if (unknown === undefined) return;
  const known: readonly string[] = INPUT_FIELDS[model.input_kind];
  const what = known.includes(unknown) ? `not taken by ${model.id}` : "not a known field";
  const path = /^\w{1,40}$/.test(unknown) ? `input.${unknown}` : `input[${quote(unknown)}]`;
  refuse("invalid_input", `${path}: ${what}; it takes ${takes.join(", ")}`);
};

const checkLinks = (name: FieldName, value: Json, allowsHost: AllowsHost): MediaLink[] => {
  if (!isMediaField(name)) return [];
  const { kind, isList } = MEDIA_FIELDS[name];
  const urls: [field: string, url: Json][] =
    isList && Array.isArray(value) ? value.map((url, at) => [`input.${name}[${at}]`, url]) : [[`input.${name}`, value]];
  return urls.map(([field, url]) => {
    const fault = linkFault(url, allowsHost);
    return fault || typeof url !== "string" ? refuse("invalid_input", `${field}: ${fault}`) : { field, url, kind };
  });
};

const checkRelations = (model: Model, raw: JsonObject): void => {
  const present = fieldsOf(model).filter(([name]) => Object.hasOwn(raw, name));
  for (const [name, field] of fieldsOf(model))
    if (field.required && !Object.hasOwn(raw, name)) refuse("invalid_input", `input.${name}: is missing; ${model.id} needs it`);
  for (const [name, field] of present) {
    const needed = field.requires?.find((other) => !Object.hasOwn(raw, other));
    if (needed) refuse("invalid_input", `input.${name}: needs input.${needed} beside it`);
  }
  for (const [name, field] of present) {
    const other = field.excludes?.find((excluded) => Object.hasOwn(raw, excluded));
    if (other) refuse("invalid_input", `input.${name}: cannot be combined with input.${other}; send one of them`);
  }
};

/** Adds defaults, but none that a field of the request excludes: a clip to edit keeps its own length (§2.6). */
const fill = (model: Model, raw: JsonObject): JsonObject => {
  const filled: JsonObject = {};
  for (const [name, field] of fieldsOf(model)) {
    const value = raw[name] ?? defaultOf(field, raw);
    if (value !== undefined) filled[name] = value;
  }
  return filled;
};

const defaultOf = (field: Field, raw: JsonObject): Json | undefined =>
  "default" in field && !field.excludes?.some((other) => Object.hasOwn(raw, other)) ? field.default : undefined;

/**
 * Checks measured lengths against the model's limits, and that every clip with a limit or a price has a length.
 * @throws the refusal `invalid_input` naming the clip.
 */
export const checkMeasured = (model: Model, checked: CheckedInput, measured: readonly Measured[]): void => {
  for (const name of CLIP_FIELDS) {
    const field = model.fields[name];
    if (!field || !isLink(field) || !Object.hasOwn(checked.raw, name)) continue;
    const clips = measuredOf(measured, name);
    const isTimed = (field.min_s ?? field.max_s ?? field.max_total_s ?? model.price.clips[name]) !== undefined;
    const links = checked.links.filter(({ field: path }) => path === `input.${name}` || path.startsWith(`input.${name}[`));
    const unmeasured = links.find((link) => !((clips.find(({ field: path }) => path === link.field)?.ms ?? 0) > 0));
    if (isTimed && unmeasured) refuse("invalid_input", `${unmeasured.field}: its length cannot be measured`);
    const fault = clipFault(name, field, clips);
    if (fault) refuse("invalid_input", `${fault.at}: ${fault.says}`);
  }
};
