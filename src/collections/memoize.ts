// What follows from a part of the catalogue, worked out once: every submission asks for it, and a loaded catalogue never changes.

/** Remembers what `make` made of each part, for as long as the part is in use. */
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
