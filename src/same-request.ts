// Whether two requests are the same: equal as JSON values, whatever the order of their members, their white space and their escapes.
import type { Json } from "./terms.ts";

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Equal where their canonical forms (RFC 8785) are; what has none is equal to nothing: half a surrogate pair, a number beyond all bounds. It ends
 * at the first difference, so that a large body costs no more than the small one that it is compared with. Bodies are not nested deep.
 */
const isSameValue = (one: Json, other: Json): boolean => {
  if (typeof one === "string") return one === other && one.isWellFormed();
  if (typeof one === "number") return one === other && Number.isFinite(one);
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((value, at) => isSameValue(value, other[at] ?? null));
  if (!isObject(one)) return one === other;
  if (!isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) => Object.hasOwn(other, name) && name.isWellFormed() && isSameValue(one[name] ?? null, other[name] ?? null),
    )
  );
};

/** @param one and `other`: requests as they were sent, JSON that was read once already. */
export const isSameRequest = (one: string, other: string): boolean =>
  one === other || isSameValue(JSON.parse(one) as Json, JSON.parse(other) as Json);
