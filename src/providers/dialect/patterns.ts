// Patterns over words that come from outside: none may take longer than the length of what it reads, and that is bounded too.
import { DialectFault } from "./placeholders.ts";

/** Of all that a pointer leads to, as much is read as people write of an error. */
const MOST_READ = 2_000;

/** The beginnings of these values as texts, together no longer than the bound. */
export const startOfWords = (found: readonly unknown[]): string[] => {
  const words: string[] = [];
  let left = MOST_READ;
  for (const value of found) {
    if (left <= 0) break;
    const word = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
    words.push(word.slice(0, left));
    left -= word.length;
  }
  return words;
};

/** A repeat of at most so many is no more than a few characters written out. */
const SHORT_REPEAT = 100;
const REPEAT = /^(?:[*+]|\{(\d+)(,?)(\d*)\})/;

type Alternative = { isAnchored: boolean; repeats: number; repeatsGroup: boolean };

/** The alternatives at the top of a pattern, and what repeats in each. */
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
 * Reads a pattern, upper and lower case alike.
 * @throws DialectFault for what is none, and for what could take the square of the length of a text: with `a.*b` every `a` is a new
 *   beginning, and a group that repeats can be read in many ways. What begins with ^ and repeats one character has one beginning.
 */
export const patternOf = (text: string): RegExp => {
  for (const { isAnchored, repeats, repeatsGroup } of alternativesOf(text))
    if (repeats > 1 || (repeats === 1 && !isAnchored) || repeatsGroup)
      throw new DialectFault(
        `"${text}" repeats without a bound: begin with ^ and repeat one character, or give a bound as in .{0,40}; a group is not repeated`,
      );
  try {
    return new RegExp(text, "iu");
  } catch {
    throw new DialectFault(`"${text}" is no regular expression`);
  }
};
