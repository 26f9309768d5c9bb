// A part of the expensive cases of a test file, for the short settings of CI on a slow machine.

/** Percent of the cases that run: `npm run test:rest -- --share 30`. */
export const SHARE_VARIABLE = "TEST_CASE_SHARE";
/** Number that selects the cases; printed, so that a run can be repeated. */
export const SHARE_SEED_VARIABLE = "TEST_CASE_SEED";

/** A number from 0 to 1 for a case and a seed, the same in every run. */
const rankOf = (name: string, seed: number): number => Number(Bun.hash.xxHash32(name, seed)) / 0x1_0000_0000;

/**
 * All cases, or a part of them that the seed selects: at least one. Prints what is left out.
 * @param nameOf The name of a case, which decides whether it is selected.
 */
export const casesOfShare = <T>(
  what: string,
  cases: readonly T[],
  nameOf: (one: T) => string,
  percent = process.env[SHARE_VARIABLE],
): T[] => {
  const share = Number(percent ?? 100);
  if (!(share < 100)) return [...cases];
  const seed = Number(process.env[SHARE_SEED_VARIABLE] ?? Math.floor(Date.now() / 1000));
  const count = Math.max(1, Math.ceil((cases.length * share) / 100));
  const ranked = cases.toSorted((a, b) => rankOf(nameOf(a), seed) - rankOf(nameOf(b), seed));
  process.stdout.write(
    `shortened: ${what}: ${count} of ${cases.length} cases (${SHARE_VARIABLE}=${share} ${SHARE_SEED_VARIABLE}=${seed})\n`,
  );
  return ranked.slice(0, count);
};
