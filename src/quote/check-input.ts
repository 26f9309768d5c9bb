// Checks the input of a request against its model (§2.6, §2.7, §8).

import { fieldsOf, isLink } from "../../catalogue/capabilities.ts";
import {
  CLIP_FIELDS,
  INPUT_FIELDS,
  isMediaField,
  MEDIA_FIELDS,
  type MediaField,
  OPAQUE_FORMATS,
} from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import { memoize } from "../collections/memoize.ts";
import { refuse } from "../domain/api-errors.ts";
import type { Json, JsonObject, Measured, MediaLink } from "../domain/types.ts";
import { isShortForm } from "../inputs/own-links.ts";
import { clipFault, fieldFault, measuredOf } from "./check-field.ts";
import { type AllowsHost, linkFault } from "./check-links.ts";
import { quote } from "./describe-values.ts";

/**
 * A valid input. `raw` is as sent, `added` are the defaults of omitted fields, `filled` is both, `links` are its media URLs in
 * the order of the checks. List items are named `input.image_urls[0]`.
 */
export type CheckedInput = { raw: JsonObject; added: JsonObject; filled: JsonObject; links: MediaLink[] };

/**
 * Checks an input in a fixed order: unknown names (by code unit), each field in the order of `FIELD_NAMES`, missing fields, then
 * fields that require or exclude one another, and last a background that the format cannot have.
 * @param allowsHost whether the operator allows `host:port` over http and on any port.
 * @param isOwn whether a link or a short form names a stored file of this service
 * @throws ApiError `invalid_input` that names the first wrong field and what is allowed.
 */
export const checkInput = (
  model: Model,
  input: JsonObject,
  allowsHost: AllowsHost,
  isOwn: (link: string) => boolean = isShortForm,
): CheckedInput => {
  const rules = rulesOf(model);
  checkNames(model, rules, input);
  const raw: JsonObject = {};
  const links: MediaLink[] = [];
  for (const { name, field } of rules.fields) {
    if (!Object.hasOwn(input, name)) continue;
    const value = input[name] as Json;
    const fault = fieldFault(name, field, value, rules.offeredBy);
    if (fault) refuse("invalid_input", `input.${name}: ${fault}`);
    if (isMediaField(name)) links.push(...checkLinks(name, value, allowsHost, isOwn));
    raw[name] = value;
  }
  checkRelations(model, rules, raw);
  const added = defaultsBeside(rules, raw);
  const filled = { ...raw, ...added };
  checkTransparency(filled);
  return { raw, added, filled, links };
};

/** The field rules of a model in the order of the checks. */
const rulesOf = memoize((model: Model) => {
  const fields = fieldsOf(model);
  return {
    fields: fields.map(([name, field]) => ({ name, field })),
    names: new Set<string>(fields.map(([name]) => name)),
    offeredBy: `by ${model.id}`,
    required: fields.filter(([, field]) => field.required).map(([name]) => name),
    requires: fields.flatMap(([name, { requires = [] }]) => requires.map((other) => [name, other] as const)),
    excludes: fields.flatMap(([name, { excludes = [] }]) => excludes.map((other) => [name, other] as const)),
    /** `bit`: a distinct power of two. */
    defaults: fields.flatMap(([name, field], at) =>
      "default" in field && field.default !== undefined
        ? [{ name, value: field.default, excludes: field.excludes ?? [], bit: 2 ** at }]
        : [],
    ),
    /** Cached defaults by the sum of their bits. */
    combinations: new Map<number, JsonObject>(),
  };
});
type Rules = ReturnType<typeof rulesOf>;

const checkNames = (model: Model, { names }: Rules, input: JsonObject): void => {
  const sent = Object.keys(input);
  if (sent.every((name) => names.has(name))) return;
  const [unknown = ""] = sent.filter((name) => !names.has(name)).sort();
  const known: readonly string[] = INPUT_FIELDS[model.input_kind];
  const what = known.includes(unknown) ? `not taken by ${model.id}` : "not a known field";
  const path = /^\w{1,40}$/.test(unknown) ? `input.${unknown}` : `input[${quote(unknown)}]`;
  refuse("invalid_input", `${path}: ${what}; it takes ${[...names].join(", ")}`);
};

const checkLinks = (name: MediaField, value: Json, allowsHost: AllowsHost, isOwn: (link: string) => boolean): MediaLink[] => {
  const { kind, isList } = MEDIA_FIELDS[name];
  const urls: [field: string, url: Json][] =
    isList && Array.isArray(value) ? value.map((url, at) => [`input.${name}[${at}]`, url]) : [[`input.${name}`, value]];
  return urls.map(([field, url]) => {
    if (typeof url === "string" && isOwn(url)) return { field, url, kind, isOwn: true };
    const fault = linkFault(url, allowsHost);
    return fault || typeof url !== "string" ? refuse("invalid_input", `${field}: ${fault}`) : { field, url, kind };
  });
};

const checkRelations = (model: Model, { required, requires, excludes }: Rules, raw: JsonObject): void => {
  for (const name of required)
    if (!Object.hasOwn(raw, name)) refuse("invalid_input", `input.${name}: is missing; ${model.id} needs it`);
  for (const [name, needed] of requires)
    if (Object.hasOwn(raw, name) && !Object.hasOwn(raw, needed))
      refuse("invalid_input", `input.${name}: needs input.${needed} beside it`);
  for (const [name, other] of excludes)
    if (Object.hasOwn(raw, name) && Object.hasOwn(raw, other))
      refuse("invalid_input", `input.${name}: cannot be combined with input.${other}; send one of them`);
};

/** @throws ApiError for a transparent background in a format without transparency */
const checkTransparency = ({ background, output_format: format }: JsonObject): void => {
  if (background === "transparent" && OPAQUE_FORMATS.includes(format))
    refuse(
      "invalid_input",
      `input.background: transparent needs an output_format with transparency, not ${String(format)}; choose png or webp`,
    );
};

/**
 * Defaults of omitted fields, except those that a field of the request excludes: a clip to edit keeps its own length (§2.6).
 * Requests with the same combination share one object.
 */
const defaultsBeside = ({ defaults, combinations }: Rules, raw: JsonObject): JsonObject => {
  const added = defaults.filter(
    ({ name, excludes }) => raw[name] === undefined && !excludes.some((other) => Object.hasOwn(raw, other)),
  );
  const which = added.reduce((sum, { bit }) => sum + bit, 0);
  const known = combinations.get(which);
  if (known !== undefined) return known;
  const made = Object.fromEntries(added.map(({ name, value }) => [name, value]));
  combinations.set(which, made);
  return made;
};

/** A mask has the size of its image, as far as both are measured. @throws ApiError `invalid_input` */
const checkMask = (measured: readonly Measured[]): void => {
  const [mask] = measuredOf(measured, "mask_url");
  const [image] = measuredOf(measured, "image_url");
  if (!mask?.width || !mask.height || !image?.width || !image.height) return;
  if (mask.width === image.width && mask.height === image.height) return;
  const size = `${image.width} x ${image.height}`;
  refuse(
    "invalid_input",
    `input.mask_url: has ${mask.width} x ${mask.height} pixels; it must have the size of input.image_url, ${size}`,
  );
};

/**
 * Checks measured lengths against the limits of the model, that every clip with a limit or a price has a length, and the size of
 * a mask.
 * @throws ApiError `invalid_input` that names the file.
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
  if (Object.hasOwn(checked.raw, "mask_url")) checkMask(measured);
};
