// A result that a provider's safety filter withholds is a refused output for every dialect, and is never charged.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { builtInCatalogue, catalogueOver } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import { type Harness, openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";

/** Providers of sound whose API has no response for a withheld result. */
const WITHOUT_A_WORD = new Set(["elevenlabs"]);
const CATALOGUE = builtInCatalogue();

/** A model of the provider that accepts a prompt, with the provider's route first and a route of another provider second. */
const modelAt = (provider: string): Model | undefined => {
  const found = CATALOGUE.models.find(
    ({ routes, fields }) => fields.prompt && routes.some((route) => route.provider === provider),
  );
  const nodeUrl = found?.routes.find((route) => route.provider === provider);
  if (!found || !nodeUrl) return undefined;
  const next = found.routes.find((route) => route.provider !== provider) ?? {
    ...nodeUrl,
    provider: "fal",
    endpoint: "other/model",
  };
  const unit = (usd: string) => [{ when: {}, usd }];
  const paid = { image_input_rates: [], image_input_cost: [] };
  return {
    ...found,
    id: `m1-${provider}`,
    price: { ...found.price, unit: "generation" as const, clips: {} },
    routes: [
      { ...nodeUrl, ...paid, id: `m1-${provider}/own`, rates: unit("0.10"), video_input_rates: [] },
      { ...next, ...paid, id: `m1-${provider}/next`, rates: unit("0.25"), video_input_rates: [] },
    ],
  };
};

const models = DIALECT_IDS.flatMap((provider) => {
  const model = WITHOUT_A_WORD.has(provider) ? undefined : modelAt(provider);
  return model ? [{ provider, model }] : [];
});

test("covers every provider of the catalogue that can report a withheld result", () => {
  const ofRoutes = new Set(CATALOGUE.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
  const tried = new Set<string>(models.map(({ provider }) => provider));
  expect([...ofRoutes].filter((provider) => !tried.has(provider) && !WITHOUT_A_WORD.has(provider))).toEqual([]);
});

describe("a result withheld by a safety filter", () => {
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
    test(`is a refused output of ${provider}, and only a route that delivers is charged`, async () => {
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
    test(`fails the generation without a charge if ${provider} and all other routes withhold it`, async () => {
      const before = await harness.balance();
      const { id } = await harness.submit(model.id, inputFor("[sim:withheld]"));
      expect(await harness.until(id)).toMatchObject({ status: "failed", cost_usd: 0, output: null });
      expect(await harness.balance()).toEqual(before);
    });
  }
});
