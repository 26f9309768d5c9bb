// Minimum price of a request before its links are opened.

import { isLink } from "../../catalogue/capabilities.ts";
import { CLIP_FIELDS } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Credits, Measured } from "../domain/types.ts";
import { TOLERANCE_MS } from "./check-field.ts";
import type { CheckedInput } from "./check-input.ts";
import { priceRoutes } from "./price.ts";

/** Minimum measurements of the media: every clip has the shortest length of its field. */
export const leastMeasured = (model: Model, { links }: CheckedInput): Measured[] =>
  links.map(({ field, url, kind }) => {
    const name = CLIP_FIELDS.find((one) => field === `input.${one}` || field.startsWith(`input.${one}[`));
    const limits = name === undefined ? undefined : model.fields[name];
    const leastS = limits && isLink(limits) ? (limits.min_s ?? 0) : 0;
    return { field, url, kind, ms: Math.max(1, leastS * 1000 - TOLERANCE_MS) };
  });

/**
 * Lower bound of the hold of every plan, whatever the media are and whichever routes are up.
 * @param isConfigured whether a route can be in a plan at all
 * @returns undefined if no such route has a price for this input, so no plan exists
 */
export const leastReserve = (
  model: Model,
  checked: CheckedInput,
  isConfigured: (routeId: string) => boolean,
): Credits | undefined => {
  const prices = priceRoutes(model, checked, leastMeasured(model, checked)).filter(({ routeId }) => isConfigured(routeId));
  return prices.length === 0 ? undefined : Math.min(...prices.map(({ credits }) => credits));
};
