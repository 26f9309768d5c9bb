// Memoizes a function of an immutable object, such as a part of the catalogue.

/** Caches the result for each object as long as the object is in use. */
export const memoize = <Part extends object, Made>(make: (part: Part) => Made): ((part: Part) => Made) => {
  const made = new WeakMap<Part, { fresh: Made }>();
  return (part) => {
    let known = made.get(part);
    if (known === undefined) {
      known = { fresh: make(part) };
      made.set(part, known);
    }
    return known.fresh;
  };
};
