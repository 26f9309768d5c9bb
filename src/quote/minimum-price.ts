// Minimum price of a request before its links are opened.

import { isChoice, isLink, isRange } from "../../catalogue/capabilities.ts";
import { CLIP_FIELDS } from "../../catalogue/fields.ts";
import { microUsd } from "../../catalogue/rates.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Credits, Measured } from "../domain/types.ts";
import { TOLERANCE_MS } from "./check-field.ts";
import type { CheckedInput } from "./check-input.ts";
import { PER_CREDIT, priceRoutes } from "./price.ts";

/** The smallest length that a request of a model can be billed for, ms. */
const leastMs = ({ fields, price }: Model): number => {
  const { duration } = fields;
  const lengths = CLIP_FIELDS.flatMap((name) => {
    const field = price.clips[name] === "is_output" ? fields[name] : undefined;
    return field && isLink(field) ? (field.min_s ?? 0) * 1000 - TOLERANCE_MS : [];
  });
  if (duration && isRange(duration)) lengths.push(duration.min * 1000);
  if (duration && isChoice(duration)) lengths.push(...duration.values.map((value) => Number(value) * 1000));
  return Math.max(1, Math.min(...lengths, Number.MAX_SAFE_INTEGER));
};

/** Billed thousandths of a unit of the smallest request of a model. */
const leastUnits = (model: Model): number => {
  switch (model.price.unit) {
    case "second":
      return leastMs(model);
    case "image":
      return model.files * 1_000;
    case "generation":
      return 1_000;
    case "1k_characters":
      return 1;
  }
};

/**
 * Lower bound of the price of any request, whole credits: the smallest request of the cheapest model.
 * @param isConfigured whether a route can be in a plan at all
 * @returns undefined if no route is configured
 */
export const cheapestJob = (models: readonly Model[], isConfigured: (routeId: string) => boolean): Credits | undefined => {
  const prices = models.flatMap((model) => {
    const units = leastUnits(model);
    return model.routes
      .filter(({ id }) => isConfigured(id))
      .map(({ rates, video_input_rates }) => {
        const each = [...rates, ...video_input_rates].map(({ usd }) => microUsd(usd));
        return Math.max(1, Math.floor((Math.min(...each) * units) / PER_CREDIT));
      });
  });
  return prices.length === 0 ? undefined : Math.min(...prices);
};

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
