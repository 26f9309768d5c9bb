// One value of a setting: text as the number or boolean that it says exactly, and the words for what does not fit.
import { type ValueError, ValueErrorType } from "@sinclair/typebox/value";

/** What is read of a setting's schema. `expects` says in words what its pattern or format says. */
export type ValueSchema = { type?: string; anyOf?: readonly { const?: unknown }[]; expects?: string; description?: string };

const WHOLE = /^-?\d+$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Whether any text, the empty one too, is a value of its own. */
export const isText = ({ type }: ValueSchema): boolean => type === "string";

/** Text as the setting's type where it is exactly one; all else is left as it is, to be refused with its own value. */
export const converted = ({ type }: ValueSchema, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  if (type === "boolean") return value === "true" ? true : value === "false" ? false : value;
  if (type === "number") return DECIMAL.test(value) ? Number(value) : value;
  // Beyond what a number holds exactly, it would be another one.
  if (type === "integer") return WHOLE.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return value;
};

/** What may be a credential in an address: its user, its query, its fragment. */
const withoutSecrets = (text: string): string =>
  /^\w+:\/\//.test(text) ? text.replace(/:\/\/.*@/s, "://(hidden)@").replace(/([?#]).*$/s, "$1(hidden)") : text;

/** A value as it was said, without what may be secret in an address. */
const shown = (value: unknown): string => {
  if (typeof value === "number") return String(value);
  return JSON.stringify(typeof value === "string" ? withoutSecrets(value) : value);
};

const expected = ({ schema, message, type }: ValueError): string => {
  const { anyOf, expects } = schema as ValueSchema;
  if (anyOf !== undefined) return `expected one of ${anyOf.map((choice) => choice.const).join(", ")}`;
  const isUnfit = type === ValueErrorType.StringPattern || type === ValueErrorType.StringFormat;
  return isUnfit && expects !== undefined ? `expected ${expects}` : message.toLowerCase();
};

/** What a setting is to be, and what it is not to be, unless that is secret. */
export const misfit = (fault: ValueError, isSecret: boolean): string => {
  const { description } = fault.schema as ValueSchema;
  return `${expected(fault)}${isSecret ? "" : `, not ${shown(fault.value)}`}${description === undefined ? "" : ` (${description})`}`;
};
