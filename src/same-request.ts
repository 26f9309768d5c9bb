// Whether two requests are the same: equal as JSON values, whatever the order of their members, their white space and their escapes.
import canonicalize from "canonicalize";

/** The canonical form (RFC 8785) of JSON; undefined for what has none: half a surrogate pair, a number beyond all bounds. */
const canonicalForm = (json: string): string | undefined => {
  try {
    return canonicalize(JSON.parse(json));
  } catch {
    return undefined;
  }
};

/** @param one and `other`: requests as they were sent, JSON that was read once already. */
export const isSameRequest = (one: string, other: string): boolean => {
  if (one === other) return true;
  const form = canonicalForm(one);
  return form !== undefined && form === canonicalForm(other);
};
