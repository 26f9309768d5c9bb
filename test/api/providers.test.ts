// With the key of one provider alone: the model list has what runs there and nothing else, and each of these models delivers there.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { builtInProviders, knownProviders } from "../../src/providers/providers.ts";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import type { Harness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { openApiHarness } from "./harness.ts";

const CATALOGUE = builtInCatalogue();
const modelsAt = (provider: string) =>
  CATALOGUE.models.filter((model) => model.routes.some((route) => route.provider === provider));
/** A key of an account opens all interfaces that the account has; one that is set for a single interface opens that one. */
const SPEAKING = knownProviders(readDialects(null));
const modelsOf = (provider: string) =>
  CATALOGUE.models.filter(({ routes }) =>
    routes.some((route) => route.provider === provider || SPEAKING.get(route.provider)?.account === provider),
  );
/** What they make is inside the answer: there is no address that could be over. */
const INLINE = new Set(["gemini-video"]);

test("the simulator speaks every dialect that the service does", () => {
  expect([...DIALECT_IDS].map(String).sort()).toEqual([...builtInProviders()].sort());
});

for (const provider of DIALECT_IDS)
  describe(`with a key of ${provider} alone`, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness = await openApiHarness({ providers: [provider], factor: 1000, catalogue: CATALOGUE });
    });
    afterAll(() => harness.close());

    test("the model list has what runs there and nothing else", async () => {
      const { body } = await harness.ask("GET", "/v1/models", { key: null });
      const ids = (body.data as { id: string }[]).map(({ id }) => id);
      expect(ids.sort()).toEqual(
        modelsOf(provider)
          .map(({ id }) => id)
          .sort(),
      );
    });
    for (const model of modelsAt(provider))
      test(`${model.id} delivers, and is paid for once`, async () => {
        const before = await harness.balance();
        const made = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
        const ended = await harness.until(made.id);
        expect(ended).toMatchObject({ status: "succeeded", attempts: 1, error: null });
        expect(ended.output?.urls.length).toBeGreaterThan(0);
        const after = await harness.balance();
        expect(after.charged - before.charged).toBe(Math.round((ended.cost_usd ?? 0) * 100));
        expect(after.held).toBe(before.held);
      });
    test("a result that is over before it is fetched is not paid for", async () => {
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
