// Decimal USD rates as integers, and the lookup of the row that applies to a request.
import { memoize } from "../src/collections/memoize.ts";
import type { Rate } from "./schema.ts";

/**
 * Converts a decimal USD string with at most six decimals to integer micro-USD: `"0.15"` is 150,000. Computed with integers only.
 */
export const microUsd = (usd: string): number => {
  const [whole = "0", fraction = ""] = usd.split(".");
  return Number(whole) * 1_000_000 + Number(fraction.padEnd(6, "0"));
};

/** A rate table, precomputed for lookups. */
export const rateTable = memoize((rates: readonly Rate[]) =>
  rates.map((rate) => ({ rate, microUsd: microUsd(rate.usd), conditions: Object.entries(rate.when) })),
);
export type RateTable = ReturnType<typeof rateTable>;
type Values = { readonly [field: string]: unknown };
const rowFor = (table: RateTable, values: Values) => {
  rows: for (const row of table) {
    for (const [field, value] of row.conditions) if (values[field] !== value) continue rows;
    return row;
  }
  return undefined;
};

/** The first row whose `when` matches the values; undefined when no row matches. */
export const rateFor = (rates: readonly Rate[], values: Values): Rate | undefined => rowFor(rateTable(rates), values)?.rate;

/** The rate of that row, micro-USD. */
export const microUsdFor = (table: RateTable, values: Values): number | undefined => rowFor(table, values)?.microUsd;

/** Every combination of the values of several fields, the last field varying fastest; one empty combination for no fields. */
export const combinations = <T>(lists: readonly (readonly [field: string, values: readonly T[]])[]): Record<string, T>[] =>
  lists.reduce<Record<string, T>[]>(
    (made, [field, values]) => made.flatMap((sofar) => values.map((value) => ({ ...sofar, [field]: value }))),
    [{}],
  );
