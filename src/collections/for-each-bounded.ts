// Runs asynchronous work for each item, with a bounded number at a time.

/** @throws the first fault, when the work that runs has ended; no further work begins after it */
export const forEachBounded = async <T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  const rest = items[Symbol.iterator]();
  const faults: unknown[] = [];
  const run = async (): Promise<void> => {
    for (let next = rest.next(); !next.done && faults.length === 0; next = rest.next())
      await work(next.value).catch((fault: unknown) => faults.push(fault));
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  if (faults.length > 0) throw faults[0];
};
