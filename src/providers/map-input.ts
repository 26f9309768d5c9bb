// Input mapping: converts a checked input into a provider's input and endpoint.
//
// The `options` of the route in the catalogue define the conversion.
import { ok } from "node:assert/strict";
import { type Static, Type } from "@sinclair/typebox";
import { schemaCheck } from "../domain/compiled-schema.ts";
import { schemaFault } from "../domain/schema-errors.ts";
import type { Json, JsonObject } from "../domain/types.ts";
import type { AdapterContext } from "./port.ts";

const Name = Type.String({ minLength: 1, maxLength: 100 });
const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const FieldRule = Type.Object(
  {
    to: Name,
    as: Type.Optional(Type.Union([Type.Literal("string"), Type.Literal("integer"), Type.Literal("list")])),
    map: Type.Optional(Type.Record(Type.String(), Scalar)),
  },
  { additionalProperties: false },
);
type FieldRule = Static<typeof FieldRule>;

/** The `options` of a route, for every provider. */
export const RouteOptionsSchema = Type.Object(
  {
    endpoints: Type.Optional(
      Type.Array(
        Type.Object(
          { when: Type.Array(Name), path: Name, constants: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
          { additionalProperties: false },
        ),
        {
          description: "the first entry whose fields are all given adds its path to the endpoint, and its constants to the input",
        },
      ),
    ),
    path: Type.Optional(
      Type.Object(
        { field: Name, map: Type.Record(Type.String(), Name), else: Name },
        {
          additionalProperties: false,
          description: "adds a part to the endpoint by the value of a field; else: the part where the field is absent",
        },
      ),
    ),
    fields: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.Null(), Name, FieldRule]), {
        description: "our field to theirs; absent: the same name, null: not sent; `a.b` is member b of object a",
      }),
    ),
    defaults: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "members sent where no field of the request sets them" }),
    ),
    constants: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "members always sent as they are" })),
    marker: Type.Optional(Type.String({ minLength: 1, description: "their field that carries our reference" })),
    values: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: "words that the provider's dialect asks for as {route.NAME}" }),
    ),
  },
  { additionalProperties: false },
);
type RouteOptions = Static<typeof RouteOptionsSchema>;

const optionsCheck = schemaCheck(RouteOptionsSchema);

/** The first fault of a route's options as `path: message`; undefined if they are valid. */
export const optionsFault = (options: JsonObject): string | undefined => {
  const fault = optionsCheck.Errors(options).First();
  if (!fault) return undefined;
  const { path, message } = schemaFault(fault);
  return `${path || "options"}: ${message}`;
};

/** The checked options of a route. @throws AssertionError for invalid options */
export const readOptions = (c: Pick<AdapterContext, "endpoint" | "options">): RouteOptions => {
  ok(optionsCheck.Check(c.options), `the options of a route on ${c.endpoint} are not valid: ${optionsFault(c.options)}`);
  return c.options;
};

/** The field of the provider's input that carries our reference; undefined if the route has none. */
export const markerOf = (c: AdapterContext): string | undefined => readOptions(c).marker;

/** The values of the route that its provider's dialect reads as `{route.NAME}`. */
export const valuesOf = (c: AdapterContext): Readonly<Record<string, unknown>> => readOptions(c).values ?? {};

const modeOf = (c: AdapterContext) =>
  readOptions(c).endpoints?.find(({ when }) => when.every((field) => Object.hasOwn(c.input.filled, field)));

/** The part of the endpoint that the value of a field selects. Every part is from the catalogue. */
const selectedPart = (c: AdapterContext): string | undefined => {
  const { path } = readOptions(c);
  if (path === undefined) return undefined;
  const value = c.input.filled[path.field];
  if (value === undefined) return path.else;
  ok(Object.hasOwn(path.map, String(value)), `input.${path.field}: the route has no part of its endpoint for ${String(value)}`);
  return path.map[String(value)];
};

/** The endpoint for this input, e.g. `bytedance/seedance-2.0/reference-to-video`. */
export const endpointOf = (c: AdapterContext): string =>
  [c.endpoint, modeOf(c)?.path, selectedPart(c)].filter((part) => part !== undefined).join("/");

const ruleFor = (options: RouteOptions, field: string): FieldRule | undefined => {
  const fields = options.fields ?? {};
  const rule = Object.hasOwn(fields, field) ? fields[field] : field;
  if (rule === null || rule === undefined) return undefined;
  return typeof rule === "string" ? { to: rule } : rule;
};

const shape = (field: string, value: Json, rule: FieldRule): Json => {
  const word = String(value);
  const mapped = rule.map !== undefined && Object.hasOwn(rule.map, word) ? (rule.map[word] ?? value) : value;
  if (rule.as === "list") return Array.isArray(mapped) ? mapped : [mapped];
  if (rule.as === undefined) return mapped;
  ok(typeof mapped !== "object", `input.${field} cannot be sent as ${rule.as}`);
  if (rule.as === "string") return String(mapped);
  ok(Number.isSafeInteger(Number(mapped)), `input.${field}: ${word} cannot be sent as an integer`);
  return Number(mapped);
};

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Adds members to an object. Objects are merged, and any other value overrides the earlier one. */
const merge = (into: JsonObject, members: JsonObject): void => {
  for (const [name, value] of Object.entries(members)) {
    const before = Object.hasOwn(into, name) ? into[name] : undefined;
    if (isObject(before) && isObject(value)) merge(before, value);
    else into[name] = isObject(value) ? structuredClone(value) : value;
  }
};

/** Sets the value at `name`, or at `object.name`. Two lists at one place are joined. */
const put = (into: JsonObject, to: string, value: Json): void => {
  const dot = to.indexOf(".");
  if (dot > 0) {
    const inner: JsonObject = {};
    put(inner, to.slice(dot + 1), value);
    merge(into, { [to.slice(0, dot)]: inner });
    return;
  }
  const before = Object.hasOwn(into, to) ? into[to] : undefined;
  into[to] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
};

/**
 * The provider's input. Missing fields are omitted, never sent as null. `audio` is sent wherever the route maps it, because
 * providers generate sound by default. Two fields that map to one list are joined in their own order. Fields override defaults,
 * constants override fields, and our reference overrides all.
 */
export const inputOf = (c: AdapterContext): JsonObject => {
  const options = readOptions(c);
  const given = Object.entries(c.input.filled);
  if (Object.hasOwn(options.fields ?? {}, "audio") && !Object.hasOwn(c.input.filled, "audio")) given.push(["audio", false]);
  const mapped: JsonObject = {};
  for (const [field, value] of given) {
    const rule = ruleFor(options, field);
    if (rule === undefined) continue;
    put(mapped, rule.to, shape(field, value, rule));
  }
  const whole: JsonObject = {};
  for (const members of [options.defaults, mapped, options.constants, modeOf(c)?.constants])
    merge(whole, (members ?? {}) as JsonObject);
  if (options.marker !== undefined) whole[options.marker] = c.ref;
  return whole;
};
