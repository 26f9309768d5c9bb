// Formats values in input errors: types, choices and short quotes.

/** The type of a JSON value, to follow "not". */
export const nameType = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return "text";
    case "number":
      return "a number";
    case "boolean":
      return "true or false";
    default:
      return "an object";
  }
};

/** A short word or number unchanged; other text quoted, escaped and cut to 40 characters. */
export const show = (value: unknown): string => {
  if (typeof value !== "string") return String(value);
  return /^[\w.:-]{1,40}$/.test(value) ? value : quote(value);
};

/** Text in quotes, escaped and cut to 40 characters. */
export const quote = (text: string): string => {
  const characters = [...text.slice(0, 100)];
  return JSON.stringify(text.length > 100 || characters.length > 40 ? `${characters.slice(0, 40).join("")}…` : text);
};

/** `a, b or c`. */
export const listChoices = (values: readonly unknown[]): string => {
  const words = values.map(show);
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
};

/** Length in Unicode code points, as every length of the API. The text must be well-formed. */
export const countCodePoints = (text: string): number => {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) count -= 1;
  }
  return count;
};
