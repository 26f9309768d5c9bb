// What a route leaves of its price: over all that it has a price for, below zero where it is sold at a loss.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { marginOf, marginText } from "../../catalogue/margin.ts";

const at = (resolution: string, usd: string) => ({ when: { resolution }, usd });

test("it is the share of the price that is left, the least and the most of all prices", () => {
  const rates = [at("480p", "0.10"), at("720p", "0.20")];
  const margin = marginOf({ rates, cost: [at("480p", "0.08"), at("720p", "0.21")] });
  expect(margin?.mostPercent).toBeCloseTo(20);
  expect(margin?.leastPercent).toBeCloseTo(-5);
  expect(marginText(margin)).toBe("-5–20 %");
  expect(marginText(marginOf({ rates, cost: [{ when: {}, usd: "0.10" }] }))).toBe("0–50 %");
});

test("one cost for everything holds for each price; without a cost nothing is claimed", () => {
  expect(marginOf({ rates: [at("480p", "0.10")], cost: [] })).toBeNull();
  expect(marginOf({ rates: [at("480p", "0.10")], cost: [at("720p", "0.10")] })).toBeNull();
  expect(marginText(null)).toBe("?");
});

test("the shipped routes that can lose money are those whose prices the specification fixes, and they say so", () => {
  const losing = builtInCatalogue()
    .models.flatMap(({ routes }) => routes)
    .filter((route) => (marginOf(route)?.leastPercent ?? 0) < 0);
  expect(losing.map(({ id }) => id)).toEqual([
    "vidmodel-2.0-fast/modelark",
    "vidmodel-2.0-mini/volcengine",
    "vidmodel-2.0/modelark",
  ]);
  for (const { not_verified } of losing) expect(not_verified?.[0]).toMatch(/^LOSS at list price/);
});
