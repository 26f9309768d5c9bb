// Provider cost of a request by the costs of the catalogue; the counterpart of price.ts.
import { CLIP_FIELDS } from "../../catalogue/fields.ts";
import { microUsdFor, rateTable } from "../../catalogue/rates.ts";
import type { Model, Route } from "../../catalogue/schema.ts";
import type { Credits, JsonObject } from "../domain/types.ts";
import { billedUnits, picturesIn } from "./price.ts";

const MICRO_USD_PER_CREDIT = 10_000;
const THOUSANDTHS = 1_000;

/**
 * Cost in credits with fractions of a route for a result. Input clips are billed by lengths that are not stored, so the price is
 * scaled by cost and rate. Without a cost in the catalogue, the price is the cost.
 */
export const providerCost = (model: Model, routeId: string, filled: JsonObject, priceCredits: Credits): number => {
  const route = model.routes.find(({ id }) => id === routeId);
  return (route && catalogueCost(model, route, filled, priceCredits)) ?? priceCredits;
};

/** The same in whole micro-USD; undefined without a cost in the catalogue. */
export const knownCost = (model: Model, route: Route, filled: JsonObject, priceCredits: Credits): number | undefined => {
  if (route.cost.length === 0) return undefined;
  const credits = catalogueCost(model, route, filled, priceCredits);
  if (credits === undefined) return undefined;
  // Generations share a plan. A cost by characters would make a plan for each length, so it is rounded up to a tenth of a credit.
  if (model.price.unit === "1k_characters") return (Math.ceil(credits * 10) * MICRO_USD_PER_CREDIT) / 10;
  return Math.round(credits * MICRO_USD_PER_CREDIT);
};

const catalogueCost = (model: Model, route: Route, filled: JsonObject, priceCredits: Credits): number | undefined => {
  const cost = microUsdFor(rateTable(route.cost), filled);
  if (cost === undefined) return undefined;
  const isTimed = CLIP_FIELDS.some((name) => Object.hasOwn(filled, name) && model.price.clips[name] !== undefined);
  if (isTimed) {
    const rate = microUsdFor(rateTable(route.rates), filled) || microUsdFor(rateTable(route.video_input_rates), filled);
    return rate ? (priceCredits * cost) / rate : priceCredits;
  }
  const { atRate } = billedUnits(model, { filled }, []);
  const pictures = route.image_input_cost.length === 0 ? 0 : (microUsdFor(rateTable(route.image_input_cost), filled) ?? 0);
  return (cost * (atRate / THOUSANDTHS) + pictures * picturesIn({ filled })) / MICRO_USD_PER_CREDIT;
};
