// The least that a request can come to, before anybody has opened its links: what it is held against while nothing is measured yet.

import { isLink } from "../../catalogue/capabilities.ts";
import { CLIP_FIELDS } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Credits, Measured } from "../domain/types.ts";
import { TOLERANCE_MS } from "./check-field.ts";
import type { CheckedInput } from "./check-input.ts";
import { priceRoutes } from "./price.ts";

/** What the media of a request measure at least: every clip as short as its field lets it be. */
export const leastMeasured = (model: Model, { links }: CheckedInput): Measured[] =>
  links.map(({ field, url, kind }) => {
    const name = CLIP_FIELDS.find((one) => field === `input.${one}` || field.startsWith(`input.${one}[`));
    const limits = name === undefined ? undefined : model.fields[name];
    const leastS = limits && isLink(limits) ? (limits.min_s ?? 0) : 0;
    return { field, url, kind, ms: Math.max(1, leastS * 1000 - TOLERANCE_MS) };
  });

/**
 * No plan of this request reserves less, whatever its media turn out to be and whichever routes are up by then.
 * @param isConfigured whether a route can be in a plan at all
 * @returns undefined where no such route has a price for this input: there is no plan, whatever its media are
 */
export const leastReserve = (
  model: Model,
  checked: CheckedInput,
  isConfigured: (routeId: string) => boolean,
): Credits | undefined => {
  const prices = priceRoutes(model, checked, leastMeasured(model, checked)).filter(({ routeId }) => isConfigured(routeId));
  return prices.length === 0 ? undefined : Math.min(...prices.map(({ credits }) => credits));
};
