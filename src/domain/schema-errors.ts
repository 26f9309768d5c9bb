// Describes values that do not match a schema: what is wrong and what is allowed.
import type { TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/value";

/** The parts of a JSON schema that a description uses. `expects` describes a pattern or format in words. */
type Described = {
  type?: string;
  const?: unknown;
  anyOf?: readonly Described[];
  properties?: Readonly<Record<string, unknown>>;
  patternProperties?: Readonly<Record<string, unknown>>;
  pattern?: string;
  expects?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

/** The message for an empty text where one is required. */
export const EMPTY = "must not be empty";

/** ` from 1 to 8`, ` of at least 1`, ` of at most 8`, or nothing without bounds. */
const boundsText = (least: number | undefined, most: number | undefined, what = ""): string => {
  if (least !== undefined && most !== undefined)
    return what === "" ? ` from ${least} to ${most}` : ` of ${least} to ${most}${what}`;
  if (least !== undefined) return ` of at least ${least}${what}`;
  return most === undefined ? "" : ` of at most ${most}${what}`;
};

const numberText = (name: string, { minimum, exclusiveMinimum, maximum }: Described): string =>
  exclusiveMinimum === undefined
    ? `${name}${boundsText(minimum, maximum)}`
    : `${name} greater than ${exclusiveMinimum}${maximum === undefined ? "" : ` and at most ${maximum}`}`;

const textText = ({ expects, pattern, minLength, maxLength }: Described): string => {
  if (expects !== undefined) return expects;
  if (pattern !== undefined) return `a text that matches ${pattern}`;
  if (minLength === 1 && maxLength === undefined) return "a text that is not empty";
  return `a text${boundsText(minLength, maxLength, " characters")}`;
};

/** What a schema allows, e.g. `a whole number from 1 to 65535`. */
export const allowedBy = (schema: TSchema): string => allowedText(schema as Described);

const allowedText = (schema: Described): string => {
  const { type, anyOf, minItems, maxItems } = schema;
  if ("const" in schema) return typeof schema.const === "string" ? schema.const : JSON.stringify(schema.const);
  if (anyOf?.every((choice) => "const" in choice)) return `one of ${anyOf.map(allowedText).join(", ")}`;
  if (anyOf !== undefined) return [...new Set(anyOf.map(allowedText))].join(" or ");
  if (type === "boolean") return "true or false";
  if (type === "integer") return numberText("a whole number", schema);
  if (type === "number") return numberText("a number", schema);
  if (type === "string") return textText(schema);
  if (type === "array") return `a list${boundsText(minItems, maxItems, " items")}`;
  if (type === "object") return "an object";
  return type === "null" ? "null" : "a JSON value";
};

/** Lists the members that an object may have. */
const allowedMembers = ({ properties, patternProperties }: Described): string => {
  const names = Object.keys(properties ?? {});
  if (names.length > 0) return `allowed are ${names.join(", ")}`;
  const [pattern] = Object.keys(patternProperties ?? {});
  return pattern === undefined ? "no key is allowed here" : `allowed are names that match ${pattern}`;
};

/** `unknown key; allowed are …` of an object with a member that its schema does not have. */
export const unknownKeyText = ({ schema }: ValueError): string => `unknown key; ${allowedMembers(schema as Described)}`;

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** The error inside the only alternative of a union that can be meant, or the error itself. */
const narrowed = (fault: ValueError): ValueError => {
  const { anyOf = [] } = fault.schema as Described;
  if (fault.type !== ValueErrorType.Union || !isObject(fault.value)) return fault;
  const objects = anyOf.flatMap(({ type }, at) => (type === "object" ? [at] : []));
  const inner = objects.length === 1 ? fault.errors[objects[0] ?? 0]?.First() : undefined;
  return inner === undefined ? fault : narrowed(inner);
};

/** The path of a value that does not match, and the message: what is wrong and what is allowed. */
export const schemaFault = (reported: ValueError): { path: string; message: string } => {
  const fault = narrowed(reported);
  const { path, type, schema, value } = fault;
  if (type === ValueErrorType.ObjectAdditionalProperties) return { path, message: unknownKeyText(fault) };
  const allowed = allowedBy(schema);
  if (type === ValueErrorType.ObjectRequiredProperty) return { path, message: `is missing; expected ${allowed}` };
  if (type === ValueErrorType.ArrayUniqueItems) return { path, message: "contains the same item twice" };
  if (type === ValueErrorType.StringMinLength && value === "") return { path, message: EMPTY };
  return { path, message: `expected ${allowed}` };
};
