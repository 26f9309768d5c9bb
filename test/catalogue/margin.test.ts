// Margin of a route: lowest and highest over all its prices, negative where the price is below the cost.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { marginOf, marginText } from "../../catalogue/margin.ts";

const at = (resolution: string, usd: string) => ({ when: { resolution }, usd });

test("marginOf returns the lowest and the highest share of the price that remains after cost", () => {
  const rates = [at("480p", "0.10"), at("720p", "0.20")];
  const margin = marginOf({ rates, cost: [at("480p", "0.08"), at("720p", "0.21")] });
  expect(margin?.mostPercent).toBeCloseTo(20);
  expect(margin?.leastPercent).toBeCloseTo(-5);
  expect(marginText(margin)).toBe("-5–20 %");
  expect(marginText(marginOf({ rates, cost: [{ when: {}, usd: "0.10" }] }))).toBe("0–50 %");
});

test("marginOf returns null for a route without a matching cost, and marginText prints a question mark", () => {
  expect(marginOf({ rates: [at("480p", "0.10")], cost: [] })).toBeNull();
  expect(marginOf({ rates: [at("480p", "0.10")], cost: [at("720p", "0.10")] })).toBeNull();
  expect(marginText(null)).toBe("?");
});

test("only routes whose prices the specification fixes can have a negative margin, and not_verified begins with LOSS", () => {
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
