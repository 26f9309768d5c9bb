// Coverage of published options: with only one provider configured, every value of every option has a route.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { type EntryOption, modelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Json, JsonObject, Measured } from "../../src/domain/types.ts";
import { checkInput, checkMeasured } from "../../src/quote/check-input.ts";
import { makePlan } from "../../src/quote/plan.ts";
import { priceRoutes } from "../../src/quote/price.ts";

const CATALOGUE = builtInCatalogue();
const PROVIDERS = [...new Set(CATALOGUE.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)))];

const linkOf = (name: string): Json => {
  const url = `https://example.com/${name}`;
  return name.endsWith("s") ? [url] : url;
};
/** Boundary values of an option; all values of an option with a list. */
const valuesOf = (name: string, option: EntryOption): Json[] => {
  if (option.values) return [...option.values];
  if (option.max_items !== undefined) return [linkOf(name)];
  if (option.max_length !== undefined) return ["x", "x".repeat(option.max_length)];
  return [option.min, option.max, option.default].flatMap((value) => (value === undefined ? [] : [value]));
};
/** One request for each value of each option, with the minimal other fields. */
const requestsOf = (options: Record<string, EntryOption>): JsonObject[] => {
  const needed = Object.entries(options).filter(([name, { required }]) => required || name === "prompt");
  const least = Object.fromEntries(needed.map(([name, option]) => [name, valuesOf(name, option)[0] ?? null]));
  const tried = Object.entries(options).flatMap(([name, option]) =>
    valuesOf(name, option).map((value) => ({
      ...least,
      ...Object.fromEntries((option.requires ?? []).map((other) => [other, linkOf(other)])),
      [name]: value,
    })),
  );
  return [least, ...tried];
};
const routesFor = (model: Model, input: JsonObject, isConfigured: (routeId: string) => boolean): number => {
  const checked = checkInput(model, input, () => false);
  const measured = checked.links.map((link): Measured => ({ ...link, ms: 6000, width: 1280, height: 720 }));
  checkMeasured(model, checked, measured);
  return makePlan({
    ...{ model, checked, measured, prices: priceRoutes(model, checked, measured) },
    ...{ maxCostCredits: 1_000_000, maxWaitMs: null, expectedMs: () => undefined },
    routeState: (routeId) => (isConfigured(routeId) ? "up" : "unconfigured"),
  }).routes.length;
};

test.each(PROVIDERS)("with only %s configured, every value that the model list publishes has exactly one route", (provider) => {
  for (const model of CATALOGUE.models) {
    const isConfigured = (routeId: string) => CATALOGUE.route(routeId)?.route.provider === provider;
    if (!model.routes.some(({ id }) => isConfigured(id))) continue;
    const { options, tasks } = modelEntry(model, isConfigured);
    expect(tasks).not.toBeEmpty();
    for (const input of requestsOf(options))
      expect([model.id, input, routesFor(model, input, isConfigured)]).toEqual([model.id, input, 1]);
  }
});
