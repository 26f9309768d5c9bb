// M1: what a provider's safety filter withheld is a refused output, in every provider's own words, and never a picture that is paid for.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { builtInCatalogue, catalogueOver } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import { type Harness, openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";

/** It makes sound, and has no word for a filter of what it made. */
const WITHOUT_A_WORD = new Set(["elevenlabs"]);
const CATALOGUE = builtInCatalogue();

/** A model of the provider that takes a prompt, with its own route first and one at another provider behind it. */
const modelAt = (provider: string): Model | undefined => {
  const found = CATALOGUE.models.find(
    ({ routes, fields }) => fields.prompt && routes.some((route) => route.provider === provider),
  );
  const own = found?.routes.find((route) => route.provider === provider);
  if (!found || !own) return undefined;
  const next = found.routes.find((route) => route.provider !== provider) ?? { ...own, provider: "fal", endpoint: "other/model" };
  const unit = (usd: string) => [{ when: {}, usd }];
  const paid = { image_input_rates: [], image_input_cost: [] };
  return {
    ...found,
    id: `m1-${provider}`,
    price: { ...found.price, unit: "generation" as const, clips: {} },
    routes: [
      { ...own, ...paid, id: `m1-${provider}/own`, rates: unit("0.10"), video_input_rates: [] },
      { ...next, ...paid, id: `m1-${provider}/next`, rates: unit("0.25"), video_input_rates: [] },
    ],
  };
};

const models = DIALECT_IDS.flatMap((provider) => {
  const model = WITHOUT_A_WORD.has(provider) ? undefined : modelAt(provider);
  return model ? [{ provider, model }] : [];
});

test("M1: every provider of the catalogue is tried", () => {
  const ofRoutes = new Set(CATALOGUE.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
  const tried = new Set<string>(models.map(({ provider }) => provider));
  expect([...ofRoutes].filter((provider) => !tried.has(provider) && !WITHOUT_A_WORD.has(provider))).toEqual([]);
});

describe("M1: withheld by a safety filter", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness({
      ...{ providers: [...DIALECT_IDS], factor: 1000, catalogue: catalogueOver(models.map(({ model }) => model)) },
    });
  });
  afterAll(() => harness.close());

  for (const { provider, model } of models) {
    const inputFor = (words: string) => {
      const input = leastInput(model, `${harness.simulator.url}/samples`);
      return { ...input, prompt: `${String(input.prompt ?? "a fox")} ${words}` };
    };
    test(`M1: ${provider} says so: the next route delivers and it alone is paid`, async () => {
      const { id } = await harness.submit(model.id, inputFor(`[sim:${provider}:withheld]`));
      const ended = await harness.until(id);
      const isAlone = model.routes.every((route) => route.provider === provider);
      expect(ended).toMatchObject(
        isAlone ? { status: "failed", cost_usd: 0 } : { status: "succeeded", attempts: 2, cost_usd: 0.25 },
      );
      const [first] = await harness.store.attemptsOf((await harness.store.findGeneration(id))?.seq ?? 0);
      expect(first?.failure?.class).toBe("refused_output");
      expect(first?.state).toMatch(/^(failed|rejected)$/);
    });
    test(`M1: ${provider} and all others say so: it has failed, and nothing is charged`, async () => {
      const before = await harness.balance();
      const { id } = await harness.submit(model.id, inputFor("[sim:withheld]"));
      expect(await harness.until(id)).toMatchObject({ status: "failed", cost_usd: 0, output: null });
      expect(await harness.balance()).toEqual(before);
    });
  }
});
