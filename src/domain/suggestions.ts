// Suggestions for a misspelled name: the known names that resemble it.
import { distance } from "fastest-levenshtein";

const MOST = 3;
/** A longer name is not compared, because the time of a comparison grows with the length of both. */
const LONGEST = 80;
/** The least number of characters that may be a part of a name. */
const SHORTEST_PART = 3;

/** The known names that contain `given` or differ from it by at most a third of its characters, the nearest first. */
export const suggestionsFor = (given: string, known: readonly string[]): string[] => {
  const wanted = given.trim().toLowerCase();
  if (wanted === "" || wanted.length > LONGEST) return [];
  const isPart = wanted.length >= SHORTEST_PART;
  return known
    .map((name) => ({ name, edits: isPart && name.includes(wanted) ? 0 : distance(wanted, name) }))
    .filter(({ edits }) => edits <= Math.floor(wanted.length / 3))
    .sort((a, b) => a.edits - b.edits || a.name.length - b.name.length)
    .slice(0, MOST)
    .map(({ name }) => name);
};

/** `Did you mean a, b or c?`; empty if no known name resembles `given`. */
export const didYouMean = (given: string, known: readonly string[]): string => {
  const names = suggestionsFor(given, known).map((name) => JSON.stringify(name));
  if (names.length === 0) return "";
  const last = names.pop();
  return `Did you mean ${names.length === 0 ? "" : `${names.join(", ")} or `}${last}?`;
};
