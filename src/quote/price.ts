// The price of a request on each route, in whole credits: rate × billed units as integers, rounded up once at the end.
import { CLIP_FIELDS, PICTURE_FIELDS } from "../../catalogue/fields.ts";
import { microUsdFor, type RateTable, rateTable } from "../../catalogue/rates.ts";
import type { ClipBilling, Model } from "../../catalogue/schema.ts";
import { memoize } from "../collections/memoize.ts";
import type { Credits, Measured } from "../domain/types.ts";
import { measuredOf } from "./check-field.ts";
import type { CheckedInput } from "./check-input.ts";
import { countCodePoints } from "./describe-values.ts";

export type RoutePrice = { routeId: string; credits: Credits };

/** Billed units in thousandths: ms for seconds, code points for 1,000 characters, 1,000 for one image or one generation. */
type Billed = { atRate: number; atVideoInputRate: number };

/** Thousandths of a unit × micro-USD per credit. */
export const PER_CREDIT = 1_000 * 10_000;
/** The largest exact integer; a price of 9 million USD exceeds every limit. */
const DEAREST: Credits = Number.MAX_SAFE_INTEGER;

/**
 * The price on every route that has one for this input, in the order of the routes. A route that does not support the input may
 * be missing.
 * @param measured every clip of the input that is billed, with its length; see `checkMeasured`
 */
export const priceRoutes = (model: Model, checked: CheckedInput, measured: readonly Measured[]): RoutePrice[] => {
  const billed = billedUnits(model, checked, measured);
  const prices: RoutePrice[] = [];
  for (const tariff of tariffsOf(model)) {
    const credits = creditsOn(tariff, checked, billed);
    if (credits !== undefined) prices.push({ routeId: tariff.routeId, credits });
  }
  return prices;
};

/** The rates of a model's routes, precomputed. */
const tariffsOf = memoize((model: Model) =>
  model.routes.map(({ id, rates, video_input_rates, image_input_rates }) => ({
    routeId: id,
    rates: rateTable(rates),
    videoInputRates: rateTable(video_input_rates),
    imageInputRates: image_input_rates.length === 0 ? undefined : rateTable(image_input_rates),
  })),
);
type Tariff = ReturnType<typeof tariffsOf>[number];

const scaledOn = (rates: RateTable, units: number, { filled }: CheckedInput): number | undefined => {
  if (units === 0) return 0;
  const microUsd = microUsdFor(rates, filled);
  return microUsd === undefined ? undefined : microUsd * units;
};

export const picturesIn = ({ filled }: Pick<CheckedInput, "filled">): number =>
  PICTURE_FIELDS.reduce((count, name) => {
    const value = filled[name];
    return count + (Array.isArray(value) ? value.length : value === undefined ? 0 : 1);
  }, 0);

const creditsOn = (tariff: Tariff, checked: CheckedInput, billed: Billed): Credits | undefined => {
  const output = scaledOn(tariff.rates, billed.atRate, checked);
  const input = scaledOn(tariff.videoInputRates, billed.atVideoInputRate, checked);
  const pictures = tariff.imageInputRates ? scaledOn(tariff.imageInputRates, picturesIn(checked) * 1_000, checked) : 0;
  if (output === undefined || input === undefined || pictures === undefined) return undefined;
  const scaled = output + input + pictures;
  if (!Number.isSafeInteger(scaled)) return DEAREST;
  const rest = scaled % PER_CREDIT;
  return Math.max(1, (scaled - rest) / PER_CREDIT + (rest === 0 ? 0 : 1));
};

/** The billed quantity of a request, in thousandths of a unit. */
export const billedUnits = (model: Model, checked: Pick<CheckedInput, "filled">, measured: readonly Measured[]): Billed => {
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

/** Output and clips of a per-second model in ms, each at the rate that the model's `price.clips` states. */
const billedMs = (model: Model, { filled }: Pick<CheckedInput, "filled">, measured: readonly Measured[]): Billed => {
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
