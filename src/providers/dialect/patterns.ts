// Regular expressions over untrusted text, with linear time and bounded input.
import { DialectError } from "./placeholders.ts";

/** All values of a pointer together are read up to this length, which exceeds the usual length of an error text. */
const MAX_READ = 2_000;

/** The values as texts, truncated to the limit together. */
export const startOfWords = (found: readonly unknown[]): string[] => {
  const words: string[] = [];
  let left = MAX_READ;
  for (const value of found) {
    if (left <= 0) break;
    const word = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
    words.push(word.slice(0, left));
    left -= word.length;
  }
  return words;
};

/** A repeat with at most this upper bound is equivalent to a few characters in full. */
const SHORT_REPEAT = 100;
const REPEAT = /^(?:[*+]|\{(\d+)(,?)(\d*)\})/;

type Alternative = { isAnchored: boolean; repeats: number; repeatsGroup: boolean };

/** The top-level alternatives of a pattern, and the repeats in each. */
const alternativesOf = (text: string): Alternative[] => {
  const begun = (at: number): Alternative => ({ isAnchored: text[at] === "^", repeats: 0, repeatsGroup: false });
  const alternatives = [begun(0)];
  let depth = 0;
  let isClass = false;
  let isAfterGroup = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    const wasGroup = isAfterGroup;
    isAfterGroup = !isClass && char === ")";
    if (char === "\\") at += 1;
    else if (isClass) isClass = char !== "]";
    else if (char === "[") isClass = true;
    else if (char === "(") depth += 1;
    else if (char === ")") depth -= 1;
    else if (char === "|" && depth === 0) alternatives.push(begun(at + 1));
    else {
      const [, least, comma, most] = REPEAT.exec(text.slice(at, at + 16)) ?? [];
      const own = alternatives.at(-1);
      if (!own || (char !== "*" && char !== "+" && least === undefined)) continue;
      const longest = comma === "" ? Number(least) : most ? Number(most) : Number.POSITIVE_INFINITY;
      own.repeatsGroup ||= wasGroup;
      if (least === undefined || longest > SHORT_REPEAT) own.repeats += 1;
    }
  }
  return alternatives;
};

/**
 * Compiles a pattern, case-insensitive. @throws DialectError for an invalid pattern, and for one that could take quadratic time
 * in the length of a text. With `a.*b` every `a` is a new start, and a repeated group can match in many ways. A pattern that
 * begins with ^ and repeats one character has one start.
 */
export const patternOf = (text: string): RegExp => {
  for (const { isAnchored, repeats, repeatsGroup } of alternativesOf(text))
    if (repeats > 1 || (repeats === 1 && !isAnchored) || repeatsGroup)
      throw new DialectError(
        `"${text}" repeats without a bound: begin with ^ and repeat one character, or give a bound as in .{0,40}; a group is not repeated`,
      );
  try {
    return new RegExp(text, "iu");
  } catch {
    throw new DialectError(`"${text}" is not a regular expression`);
  }
};
