// What a route leaves of its price after its provider's, in percent: below zero it is sold at a loss.
import { microUsd, rateFor } from "./rates.ts";
import type { Route } from "./schema.ts";

export type Margin = { leastPercent: number; mostPercent: number };

/** Over all requests that the route has a price for; null where no cost is known. Clips that come in are left out. */
export const marginOf = ({ rates, cost }: Pick<Route, "rates" | "cost">): Margin | null => {
  const margins = rates.flatMap(({ when, usd }) => {
    const paid = rateFor(cost, when);
    const price = microUsd(usd);
    return paid === undefined || price === 0 ? [] : [((price - microUsd(paid.usd)) / price) * 100];
  });
  return margins.length === 0 ? null : { leastPercent: Math.min(...margins), mostPercent: Math.max(...margins) };
};

/** `-2–11 %`; `?` where no cost is known. */
export const marginText = (margin: Margin | null): string => {
  if (margin === null) return "?";
  const [least, most] = [Math.round(margin.leastPercent), Math.round(margin.mostPercent)];
  return least === most ? `${least} %` : `${least}–${most} %`;
};
