// Checks one value against its input field: type, length, range, choice, number of items (§2.6, §2.7, §8).

import { isChoice, isLink, isRange } from "../../catalogue/capabilities.ts";
import { type FieldName, isDecimalField, isMediaField, MEDIA_FIELDS } from "../../catalogue/fields.ts";
import type { ChoiceField, Field, LinkField, RangeField, TextField } from "../../catalogue/schema-types.ts";
import type { Measured } from "../domain/types.ts";
import { countCodePoints, listChoices, nameType, show } from "./describe-values.ts";

/**
 * The violation of a value, to follow `input.<name>: `; undefined if valid. Values are never converted: `"5"` is not 5, while 5.0
 * is. Links are counted here and parsed in `check-links.ts`.
 * @param whose what follows "is not offered", e.g. `by vidmodel-2.0`.
 */
export const fieldFault = (name: FieldName, field: Field, value: unknown, whose: string): string | undefined => {
  if (value === null) return "null is not a value; omit the field";
  if (isChoice(field)) return choiceFault(field, value, whose);
  if (isRange(field)) return rangeFault(name, field, value);
  return isLink(field) ? linksFault(name, field, value) : textFault(name, field, value);
};

const choiceFault = ({ values }: ChoiceField, value: unknown, whose: string) => {
  if ((values as readonly unknown[]).includes(value)) return undefined;
  const isOfType = values.some((offered) => typeof offered === typeof value);
  return isOfType
    ? `${show(value)} is not offered ${whose}; choose ${listChoices(values)}`
    : `must be ${listChoices(values)}, not ${nameType(value)}`;
};

const rangeFault = (name: FieldName, { min, max }: RangeField, value: unknown) => {
  const isWhole = !isDecimalField(name);
  if (typeof value !== "number")
    return `must be a ${isWhole ? "whole number" : "number"} from ${min} to ${max}, not ${nameType(value)}`;
  if (isWhole && !Number.isInteger(value)) return `${value} is not a whole number; choose ${min} to ${max}`;
  return value < min || value > max ? `${value} is not offered; choose ${min} to ${max}` : undefined;
};

const textFault = (name: FieldName, field: TextField, value: unknown) => {
  if (typeof value !== "string") return `must be text, not ${nameType(value)}`;
  if (name === "prompt" && value === "") return `must not be empty; write 1 to ${field.max_length} characters`;
  if (!value.isWellFormed()) return "contains an unpaired surrogate";
  // There are never more code points than code units, so a short text is not scanned.
  const length = value.length > field.max_length ? countCodePoints(value) : value.length;
  return length > field.max_length ? `${length} characters are too many; at most ${field.max_length}` : undefined;
};

const linksFault = (name: FieldName, field: LinkField, value: unknown) => {
  if (!isMediaField(name) || !MEDIA_FIELDS[name].isList) return undefined;
  if (!Array.isArray(value)) return `must be a list of 1 to ${field.max_items} URLs, not ${nameType(value)}`;
  if (value.length === 0) return `must contain at least one URL; omit the field, or send 1 to ${field.max_items}`;
  return value.length > field.max_items ? `${value.length} URLs are too many; at most ${field.max_items}` : undefined;
};

/** Measurements of a field's links, in order. */
export const measuredOf = (measured: readonly Measured[], name: FieldName): Measured[] =>
  measured.filter(({ field }) => field === `input.${name}` || field.startsWith(`input.${name}[`));

const inSeconds = (ms: number) => `${Number((ms / 1000).toFixed(3))} s`;

/** Tolerance of length limits: "30 s" of encoded sound has 30.04 s. The measured length is billed. */
export const TOLERANCE_MS = 100;

/** The clip that violates the length limits of a field, and how: `at` is the path of the clip or the field. */
export const clipFault = (
  name: FieldName,
  { min_s, max_s, max_total_s }: LinkField,
  clips: readonly Measured[],
): { at: string; says: string } | undefined => {
  for (const { field, ms = 0 } of clips) {
    const isShort = min_s !== undefined && ms < min_s * 1000 - TOLERANCE_MS;
    const isLong = max_s !== undefined && ms > max_s * 1000 + TOLERANCE_MS;
    if (!isShort && !isLong) continue;
    const allowed =
      min_s === undefined ? `at most ${max_s} s` : max_s === undefined ? `at least ${min_s} s` : `${min_s} to ${max_s} s`;
    return { at: field, says: `is ${inSeconds(ms)} long; it must be ${allowed}` };
  }
  const totalMs = clips.reduce((sum, { ms = 0 }) => sum + ms, 0);
  return max_total_s !== undefined && totalMs > max_total_s * 1000 + TOLERANCE_MS
    ? { at: `input.${name}`, says: `is ${inSeconds(totalMs)} long in all; at most ${max_total_s} s` }
    : undefined;
};
