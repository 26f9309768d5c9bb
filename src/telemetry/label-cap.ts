// Keeps a label small: values beyond a number of different ones are all told as one.

/** What stands for every value that came too late. */
const OTHER = "other";

/** @param most different values that are told; a further one becomes `other`. */
export const createLabelCap = (most: number): ((value: string | undefined) => string) => {
  const known = new Set<string>();
  return (value = "") => {
    if (known.has(value)) return value;
    if (known.size >= most) return OTHER;
    known.add(value);
    return value;
  };
};
