// Decimal USD rates as integers, and which row of a rate table a request falls under.
import type { Rate } from "./schema.ts";

/** Micro-USD of a decimal USD string with at most six decimals: `"0.15"` is 150,000n. Never through a float. */
export const microUsd = (usd: string): bigint => {
  const [whole = "0", fraction = ""] = usd.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
};

/** The first row whose `when` holds for the values; undefined when no row does. */
export const rateFor = (rates: readonly Rate[], values: { readonly [field: string]: unknown }): Rate | undefined =>
  rates.find((rate) => Object.entries(rate.when).every(([field, value]) => values[field] === value));

/** Every combination of the values of several fields, the last field turning fastest; one empty combination for none. */
export const combinations = <T>(lists: readonly (readonly [field: string, values: readonly T[]])[]): Record<string, T>[] =>
  lists.reduce<Record<string, T>[]>(
    (made, [field, values]) => made.flatMap((sofar) => values.map((value) => ({ ...sofar, [field]: value }))),
    [{}],
  );
