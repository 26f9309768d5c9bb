// Tests of the service with a single provider key: the model list and a generation of every model of that provider.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { builtInProviders, knownProviders } from "../../src/providers/providers.ts";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import { casesOfShare } from "../case-share.ts";
import type { Harness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { openApiHarness } from "./harness.ts";

const CATALOGUE = builtInCatalogue();
const modelsAt = (provider: string) =>
  CATALOGUE.models.filter((model) => model.routes.some((route) => route.provider === provider));
/** The key of an account enables all providers of that account; a key for one provider enables only that one. */
const SPEAKING = knownProviders(readDialects(null));
const modelsOf = (provider: string) =>
  CATALOGUE.models.filter(({ routes }) =>
    routes.some((route) => route.provider === provider || SPEAKING.get(route.provider)?.account === provider),
  );
/** Providers whose result is inside the response, without a URL that could expire. */
const INLINE = new Set(["gemini-video"]);

test("the simulator supports every dialect of the service", () => {
  expect([...DIALECT_IDS].map(String).sort()).toEqual([...builtInProviders()].sort());
});

for (const provider of casesOfShare("providers", DIALECT_IDS, (provider) => provider))
  describe(`with only a key of ${provider}`, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness = await openApiHarness({ providers: [provider], factor: 1000, catalogue: CATALOGUE });
    });
    afterAll(() => harness.close());

    test("the model list contains exactly the models of that provider", async () => {
      const { body } = await harness.request("GET", "/v1/models", { key: null });
      const ids = (body.data as { id: string }[]).map(({ id }) => id);
      expect(ids.sort()).toEqual(
        modelsOf(provider)
          .map(({ id }) => id)
          .sort(),
      );
    });
    for (const model of modelsAt(provider))
      test(`${model.id} delivers and is charged once`, async () => {
        const before = await harness.balance();
        const made = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
        const ended = await harness.until(made.id);
        expect(ended).toMatchObject({ status: "succeeded", attempts: 1, error: null });
        expect(ended.output?.urls.length).toBeGreaterThan(0);
        const after = await harness.balance();
        expect(after.charged - before.charged).toBe(Math.round((ended.cost_usd ?? 0) * 100));
        expect(after.held).toBe(before.held);
      });
    test("a result that expires before its download is not charged", async () => {
      const model = modelsAt(provider).find(({ fields }) => fields.prompt);
      const known = readDialects(null).get(provider);
      if (!model || INLINE.has(provider) || (known && known.dialect.poll === undefined)) return;
      const before = await harness.balance();
      harness.simulator.script({ fault: "expired" });
      const made = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
      const ended = await harness.until(made.id);
      harness.simulator.clearScript();
      expect(ended).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "provider_failed" } });
      expect(await harness.balance()).toEqual(before);
    });
  });
