// Label cap: bounds the number of values that one label can have.

/** The label value that replaces every further value. */
const OTHER = "other";

/** @param most the number of distinct values; a further value becomes `other`. */
export const createLabelCap = (most: number): ((value: string | undefined) => string) => {
  const known = new Set<string>();
  return (value = "") => {
    if (known.has(value)) return value;
    if (known.size >= most) return OTHER;
    known.add(value);
    return value;
  };
};
