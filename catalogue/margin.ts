// The margin of a route over its provider's cost, in percent of the price; a negative margin is a loss.
import { microUsd, rateFor } from "./rates.ts";
import type { Rate, Route } from "./schema.ts";

export type Margin = { leastPercent: number; mostPercent: number };

type Tables = Pick<Route, "rates" | "cost"> & Partial<Pick<Route, "image_input_rates" | "image_input_cost">>;

const marginsOf = (rates: readonly Rate[], cost: readonly Rate[]): number[] =>
  rates.flatMap(({ when, usd }) => {
    const paid = rateFor(cost, when);
    const price = microUsd(usd);
    return paid === undefined || price === 0 ? [] : [((price - microUsd(paid.usd)) / price) * 100];
  });

/** Over all requests that the route prices, and its input images; null where no cost is known. Input clips are not included. */
export const marginOf = ({ rates, cost, image_input_rates: images = [], image_input_cost: paid = [] }: Tables): Margin | null => {
  const margins = [...marginsOf(rates, cost), ...marginsOf(images, paid)];
  // The provider charges for input images, and the route does not.
  if (paid.length > 0 && images.length === 0) margins.push(-100);
  return margins.length === 0 ? null : { leastPercent: Math.min(...margins), mostPercent: Math.max(...margins) };
};

/** For example `-2–11 %`; `?` where no cost is known. */
export const marginText = (margin: Margin | null): string => {
  if (margin === null) return "?";
  const [least, most] = [Math.round(margin.leastPercent), Math.round(margin.mostPercent)];
  return least === most ? `${least} %` : `${least}–${most} %`;
};
