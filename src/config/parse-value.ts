// Converts the text of a setting to its type and describes invalid values.
import type { ValueError } from "@sinclair/typebox/value";
import { EMPTY, schemaFault } from "../domain/schema-errors.ts";

/** The used parts of a setting's schema. */
export type ValueSchema = { type?: string; description?: string };

const WHOLE = /^-?\d+$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** True if every text, including the empty one, is a valid value. */
export const isText = ({ type }: ValueSchema): boolean => type === "string";

/**
 * Converts text to the type of the setting if it is an exact representation. Other text is returned unchanged and rejected with
 * its own value.
 */
export const converted = ({ type }: ValueSchema, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  if (type === "boolean") return value === "true" ? true : value === "false" ? false : value;
  if (type === "number") return DECIMAL.test(value) ? Number(value) : value;
  // An integer beyond the exact range of a number would be changed by the conversion.
  if (type === "integer") return WHOLE.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return value;
};

/** Removes the parts of a URL that may contain a credential: user, query and fragment. */
const withoutSecrets = (text: string): string =>
  /^\w+:\/\//.test(text) ? text.replace(/:\/\/.*@/s, "://(hidden)@").replace(/([?#]).*$/s, "$1(hidden)") : text;

/** A value as it was set, without the secret parts of a URL. */
const shown = (value: unknown): string => {
  if (typeof value === "number") return String(value);
  return JSON.stringify(typeof value === "string" ? withoutSecrets(value) : value);
};

/** Describes the expected value and, unless it is secret, the actual value. */
export const misfit = (fault: ValueError, isSecret: boolean): string => {
  const { description } = fault.schema as ValueSchema;
  const { message } = schemaFault(fault);
  const actual = isSecret || message === EMPTY ? "" : `, not ${shown(fault.value)}`;
  return `${message}${actual}${description === undefined ? "" : ` (${description})`}`;
};
