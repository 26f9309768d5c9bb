// What a request costs on each route, in whole credits: rate × billed units as integers, rounded up once at the end.
import { CLIP_FIELDS } from "../../catalogue/fields.ts";
import { microUsdFor } from "../../catalogue/rates.ts";
import type { ClipBilling, Model, Route } from "../../catalogue/schema.ts";
import type { Credits, Measured } from "../terms.ts";
import { measuredOf } from "./field.ts";
import type { CheckedInput } from "./input.ts";
import { countCodePoints } from "./words.ts";

export type RoutePrice = { routeId: string; credits: Credits };

/** Billed units in thousandths: ms for seconds, code points for 1,000 characters, 1,000 for an image or a generation. */
type Billed = { atRate: number; atVideoInputRate: number };

/** Thousandths of a unit × micro-USD per credit. */
const PER_CREDIT = 1_000 * 10_000;
/** Whole numbers are exact up to here; a price of 9 million USD is beyond every limit. */
const DEAREST: Credits = Number.MAX_SAFE_INTEGER;

/**
 * The price on every route that has one for this input; a route whose reach leaves it out may be missing.
 * @param measured every clip of the input that is billed, with its length; see `checkMeasured`.
 */
export const priceRoutes = (model: Model, checked: CheckedInput, measured: readonly Measured[]): RoutePrice[] => {
  const billed = billedUnits(model, checked, measured);
  return model.routes.flatMap((route) => {
    const credits = creditsOn(route, checked, billed);
    return credits === undefined ? [] : [{ routeId: route.id, credits }];
  });
};

const scaledOn = (rates: Route["rates"], units: number, { filled }: CheckedInput): number | undefined => {
  if (units === 0) return 0;
  const microUsd = microUsdFor(rates, filled);
  return microUsd === undefined ? undefined : microUsd * units;
};

const creditsOn = (route: Route, checked: CheckedInput, billed: Billed): Credits | undefined => {
  const output = scaledOn(route.rates, billed.atRate, checked);
  const input = scaledOn(route.video_input_rates, billed.atVideoInputRate, checked);
  if (output === undefined || input === undefined) return undefined;
  const scaled = output + input;
  if (!Number.isSafeInteger(scaled)) return DEAREST;
  const rest = scaled % PER_CREDIT;
  return Math.max(1, (scaled - rest) / PER_CREDIT + (rest === 0 ? 0 : 1));
};

const billedUnits = (model: Model, checked: CheckedInput, measured: readonly Measured[]): Billed => {
  switch (model.price.unit) {
    case "second":
      return billedMs(model, checked, measured);
    case "image":
      return { atRate: model.files * 1_000, atVideoInputRate: 0 };
    case "generation":
      return { atRate: 1_000, atVideoInputRate: 0 };
    case "1k_characters": {
      const { prompt } = checked.filled;
      return { atRate: typeof prompt === "string" ? countCodePoints(prompt) : 0, atVideoInputRate: 0 };
    }
  }
};

/** Output and clips of a per-second model in ms, each at the rate that the model's `price.clips` says. */
const billedMs = (model: Model, { filled }: CheckedInput, measured: readonly Measured[]): Billed => {
  const clipMs: Record<ClipBilling, number> = { is_output: 0, joins_output: 0, beside_output: 0 };
  const came = new Set<ClipBilling>();
  for (const name of CLIP_FIELDS) {
    const billing = model.price.clips[name];
    if (!billing || !Object.hasOwn(filled, name)) continue;
    came.add(billing);
    for (const { ms = 0 } of measuredOf(measured, name)) clipMs[billing] += Math.ceil(ms);
  }
  const outputMs = came.has("is_output") ? clipMs.is_output : Number(filled.duration ?? 0) * 1_000;
  const joined = clipMs.joins_output + clipMs.beside_output;
  return came.has("joins_output")
    ? { atRate: 0, atVideoInputRate: outputMs + joined }
    : { atRate: outputMs, atVideoInputRate: joined };
};
