// What a request costs on each route, in whole credits: rate × billed units as integers, rounded up once at the end.
import { ok } from "node:assert/strict";
import { CLIP_FIELDS } from "../../catalogue/fields.ts";
import { microUsd, rateFor } from "../../catalogue/rates.ts";
import type { ClipBilling, Model, Route } from "../../catalogue/schema.ts";
import type { Credits, Measured } from "../terms.ts";
import { measuredOf } from "./field.ts";
import type { CheckedInput } from "./input.ts";
import { countCodePoints } from "./words.ts";

export type RoutePrice = { routeId: string; credits: Credits };

/** Billed units in thousandths: ms for seconds, code points for 1,000 characters, 1,000 for an image or a generation. */
type Billed = { atRate: bigint; atVideoInputRate: bigint };

/** Thousandths of a unit × micro-USD per credit. */
const PER_CREDIT = 1_000n * 10_000n;

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

const creditsOn = (route: Route, { filled }: CheckedInput, billed: Billed): Credits | undefined => {
  let scaled = 0n;
  for (const [rates, units] of [
    [route.rates, billed.atRate],
    [route.video_input_rates, billed.atVideoInputRate],
  ] as const) {
    if (units === 0n) continue;
    const rate = rateFor(rates, filled);
    if (!rate) return undefined;
    scaled += microUsd(rate.usd) * units;
  }
  const credits = (scaled + PER_CREDIT - 1n) / PER_CREDIT;
  ok(credits <= BigInt(Number.MAX_SAFE_INTEGER), `a price of ${credits} credits on ${route.id} is beyond whole numbers`);
  return Number(credits > 0n ? credits : 1n);
};

const billedUnits = (model: Model, checked: CheckedInput, measured: readonly Measured[]): Billed => {
  switch (model.price.unit) {
    case "second":
      return billedMs(model, checked, measured);
    case "image":
      return { atRate: BigInt(model.files) * 1_000n, atVideoInputRate: 0n };
    case "generation":
      return { atRate: 1_000n, atVideoInputRate: 0n };
    case "1k_characters": {
      const { prompt } = checked.filled;
      return { atRate: BigInt(typeof prompt === "string" ? countCodePoints(prompt) : 0), atVideoInputRate: 0n };
    }
  }
};

/** Output and clips of a per-second model in ms, each at the rate that the model's `price.clips` says. */
const billedMs = (model: Model, { filled }: CheckedInput, measured: readonly Measured[]): Billed => {
  const clipMs: Record<ClipBilling, bigint> = { is_output: 0n, joins_output: 0n, beside_output: 0n };
  const came = new Set<ClipBilling>();
  for (const name of CLIP_FIELDS) {
    const billing = model.price.clips[name];
    if (!billing || !Object.hasOwn(filled, name)) continue;
    came.add(billing);
    for (const { ms = 0 } of measuredOf(measured, name)) clipMs[billing] += BigInt(Math.ceil(ms));
  }
  const outputMs = came.has("is_output") ? clipMs.is_output : BigInt(Number(filled.duration ?? 0)) * 1_000n;
  const joined = clipMs.joins_output + clipMs.beside_output;
  return came.has("joins_output")
    ? { atRate: 0n, atVideoInputRate: outputMs + joined }
    : { atRate: outputMs, atVideoInputRate: joined };
};
