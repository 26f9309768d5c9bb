// Prices: the published tables, clip rates, and integers that equal exact arithmetic for every input.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { checkMeasured } from "../../src/quote/check-input.ts";
import { priceRoutes } from "../../src/quote/price.ts";
import { catalogue, check, inputsFrom, lengthsFor, runs, shipped } from "./inputs.ts";

const CLIP = "https://media.example/a.mp4";

/** Credits per route of an input, clips measured in the order of its links. */
const pricesOf = (model: Model, input: Record<string, unknown>, lengthsMs: number[] = []) => {
  const checked = check(model, model.fields.prompt?.required ? { prompt: "a fox", ...input } : input);
  const measured = lengthsFor(checked, lengthsMs.length > 0 ? lengthsMs : [1]);
  checkMeasured(model, checked, measured);
  return priceRoutes(model, checked, measured);
};
const cheapest = (modelId: string, input: Record<string, unknown>, lengthsMs?: number[]) =>
  Math.min(...pricesOf(shipped(modelId), input, lengthsMs).map(({ credits }) => credits));

describe("the price is the published rate per second at every duration, with and without audio, for", () => {
  const table: [modelId: string, centsPerSecond: Record<string, number>][] = [
    ["vidmodel-2.0", { "480p": 8, "720p": 15, "1080p": 40, "4K": 83 }],
    ["vidmodel-2.0-fast", { "480p": 5, "720p": 11 }],
    ["vidmodel-2.0-mini", { "480p": 3, "720p": 5 }],
  ];
  test.each(table)("%s", (modelId, centsPerSecond) => {
    for (const [resolution, cents] of Object.entries(centsPerSecond))
      for (let duration = 4; duration <= 15; duration += 1)
        for (const audio of [false, true]) expect(cheapest(modelId, { resolution, duration, audio })).toBe(cents * duration);
  });
});

describe("the price equals the manually calculated one for", () => {
  const rows: [modelId: string, input: Record<string, unknown>, lengthsMs: number[], credits: number][] = [
    // 5 s × 0.15, by default.
    ["vidmodel-2.0", {}, [], 75],
    // (5 + 3.2) s × 0.10: output and reference clip are billed at the rate with video input.
    ["vidmodel-2.0", { video_url: CLIP }, [3_200], 82],
    ["vidmodel-2.0", { video_url: CLIP }, [3_201], 83],
    ["vidmodel-2.0", { video_url: CLIP, duration: 15 }, [15_000], 300],
    // Images are not billed.
    ["vidmodel-2.0", { image_urls: [CLIP, CLIP] }, [], 75],
    // 5 s × 0.20 + 10 s × 0.12: reference clips have their own rate.
    ["vidmodel-2.5", { video_urls: [CLIP, CLIP] }, [4_000, 6_000], 220],
    ["vidmodel-2.5", { video_urls: [CLIP] }, [1], 101],
    // Reference audio is not billed.
    ["vidmodel-2.5", { audio_urls: [CLIP] }, [30_000], 100],
    // An edited clip is billed once, as output.
    ["vidmodel-2.5", { video_url: CLIP }, [4_000], 80],
    ["vidmodel-2.5", { video_url: CLIP }, [29_999], 600],
    // 10 s × 0.48 + 2 s × 0.30: an edit with a reference clip.
    ["vidmodel-2.5", { video_url: CLIP, video_urls: [CLIP], resolution: "1080p" }, [10_000, 2_000], 540],
    ["sim-image-1", {}, [], 6],
    ["sim-image-1", { quality: "low" }, [], 2],
    ["sim-image-1", { quality: "high", resolution: "4K" }, [], 20],
    ["sim-edit-1", { image_url: CLIP }, [], 3],
    ["sim-edit-1", { image_url: CLIP, resolution: "2K" }, [], 5],
    ["sim-upscale-1", { image_url: CLIP, resolution: "4K" }, [], 5],
    // 0.05 per 1,000 characters: at least one credit, rounded up once.
    ["sim-speech-1", { prompt: "x" }, [], 1],
    ["sim-speech-1", { prompt: "x".repeat(200) }, [], 1],
    ["sim-speech-1", { prompt: "x".repeat(201) }, [], 2],
    ["sim-speech-1", { prompt: "🦊".repeat(1_000) }, [], 5],
    ["sim-speech-1", { prompt: "x".repeat(30_000) }, [], 150],
    // 10 s of audio × 0.07.
    ["sim-lipsync-1", { image_url: CLIP, audio_url: CLIP }, [0, 10_000], 70],
    ["sim-lipsync-1", { image_url: CLIP, audio_url: CLIP, resolution: "480p" }, [0, 10_001], 41],
  ];
  test.each(rows)("%s %j %j", (modelId, input, lengthsMs, credits) => {
    expect(cheapest(modelId, input, lengthsMs)).toBe(credits);
  });
});

test("multiplies a price per image by the number of result files", () => {
  const model = { ...shipped("sim-edit-1"), files: 4 };
  expect(pricesOf(model, { image_url: CLIP }).map(({ credits }) => credits)).toEqual([12, 16]);
});

test("rounds a price up once, not for each part", () => {
  // 0.001 × 5 s + 0.001 × 5 s is one credit; rounding each part would give two.
  const model = shipped("vidmodel-2.5");
  const [route] = model.routes;
  if (!route) throw new Error("vidmodel-2.5 needs a route");
  const cheap = { ...route, rates: [{ when: {}, usd: "0.001" }], video_input_rates: [{ when: {}, usd: "0.001" }] };
  expect(pricesOf({ ...model, routes: [cheap] }, { video_urls: [CLIP] }, [5_000])).toEqual([{ routeId: route.id, credits: 1 }]);
});

test("charges at least one credit, even for zero billed seconds", () => {
  const model = shipped("sim-lipsync-1");
  const checked = check(model, { image_url: CLIP, audio_url: CLIP });
  expect(priceRoutes(model, checked, []).map(({ credits }) => credits)).toEqual([1, 1]);
});

test("rounds a fraction of a millisecond up", () => {
  expect(cheapest("vidmodel-2.0", { video_url: CLIP }, [3_200.4])).toBe(83);
});

test("returns no price for a route without a rate for the input", () => {
  const ids = pricesOf(shipped("vidmodel-2.5"), { resolution: "1080p" }).map(({ routeId }) => routeId);
  expect(ids).toEqual(["vidmodel-2.5/fal", "vidmodel-2.5/fal-us"]);
});

/** An independent price calculation: scaled integers, from the published entry alone. */
const exactCredits = (model: Model, filled: JsonObject, ms: Record<string, number>): bigint => {
  const entry = modelEntry(model, (routeId) => routeId === model.routes[0]?.id);
  const micro = (rows: typeof entry.price.rates) => {
    const row = rows.find(({ when }) => Object.entries(when).every(([field, value]) => filled[field] === value));
    return BigInt(Math.round((row?.usd ?? 0) * 1e6));
  };
  const [output, video] = [micro(entry.price.rates), micro(entry.price.video_input_rates)];
  const clipMs = (name: string) => BigInt(ms[name] ?? 0);
  const ownMs = BigInt(Number(filled.duration ?? 0)) * 1000n;
  const scaled = (() => {
    if (model.price.unit === "1k_characters") return output * BigInt([...String(filled.prompt)].length);
    if (model.price.unit !== "second") return output * 1000n * (model.price.unit === "image" ? BigInt(model.files) : 1n);
    if (model.id === "vidmodel-2.5")
      return output * ("video_url" in filled ? clipMs("video_url") : ownMs) + video * clipMs("video_urls");
    if (model.id.startsWith("vidmodel-2.0"))
      return "video_url" in filled ? video * (ownMs + clipMs("video_url")) : output * ownMs;
    return output * clipMs("audio_url");
  })();
  const floor = scaled / 10_000_000n;
  const up = floor * 10_000_000n === scaled ? floor : floor + 1n;
  return up < 1n ? 1n : up;
};

describe("the price of every allowed input is an exact whole number of at least 1 and never falls with length, for", () => {
  test.each(catalogue.models.map(({ id }) => id))("%s", (modelId) => {
    const model = shipped(modelId);
    const lengths = fc.array(fc.integer({ min: 4_000, max: 30_000 }), { minLength: 1, maxLength: 4 });
    const property = (input: JsonObject, lengthsMs: number[]) => {
      const checked = check(model, input);
      const measured = lengthsFor(checked, lengthsMs);
      const prices = priceRoutes(model, checked, measured);
      for (const { credits } of prices) expect(Number.isSafeInteger(credits) && credits >= 1).toBe(true);
      const ms: Record<string, number> = {};
      for (const one of measured) {
        const name = one.field.replace(/^input\.|\[\d+\]$/g, "");
        ms[name] = (ms[name] ?? 0) + (one.ms ?? 0);
      }
      const first = prices.find(({ routeId }) => routeId === model.routes[0]?.id);
      expect(BigInt(first?.credits ?? 0)).toBe(exactCredits(model, checked.filled, ms));

      const longer = { ...checked, filled: { ...checked.filled, duration: Number(checked.filled.duration ?? 0) + 1 } };
      const more = priceRoutes(model, longer, measured);
      for (const [at, { credits }] of prices.entries()) expect(more[at]?.credits).toBeGreaterThanOrEqual(credits);
      const stretched = measured.map((one) => (one.ms === undefined ? one : { ...one, ms: one.ms + 250 }));
      const later = priceRoutes(model, checked, stretched);
      for (const [at, { credits }] of prices.entries()) expect(later[at]?.credits).toBeGreaterThanOrEqual(credits);
    };
    fc.assert(fc.property(inputsFrom(modelEntry(model, () => true)), lengths, property), runs(150));
  });
});

test("no product of a rate and a duration has a floating-point error", () => {
  const model = shipped("vidmodel-2.0");
  const [route] = model.routes;
  if (!route) throw new Error("vidmodel-2.0 needs a route");
  let wrongFloats = 0;
  for (let cents = 1; cents <= 100; cents += 1) {
    const usd = (cents / 100).toFixed(2);
    const priced = { ...model, routes: [{ ...route, rates: [{ when: {}, usd }] }] };
    for (let duration = 4; duration <= 15; duration += 1) {
      expect(pricesOf(priced, { duration })[0]?.credits).toBe(cents * duration);
      if (Math.ceil(Number(usd) * duration * 100) !== cents * duration) wrongFloats += 1;
    }
  }
  // The test proves something only if floating-point arithmetic is wrong for some pair.
  expect(wrongFloats).toBeGreaterThan(0);
});
