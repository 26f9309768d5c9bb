// Shipped models: a result that the first route makes as ordered passes the delivery check.
import { expect, test } from "bun:test";
import { isChoice, isRange } from "../../catalogue/capabilities.ts";
import { builtInCatalogue } from "../../catalogue/load.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import { casesOfShare } from "../case-share.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";

/** The minimal input, and one input for the first and last value of each option that decides on size, shape or sound. */
const inputsOf = (model: Model, samples: string): JsonObject[] => {
  const least = leastInput(model, samples);
  const { duration } = model.fields;
  const shortest =
    duration && (isRange(duration) ? duration.min : isChoice(duration) ? Math.min(...duration.values.map(Number)) : 1);
  const short = shortest === undefined || "video_url" in least ? least : { ...least, duration: shortest };
  const more = (["resolution", "aspect_ratio", "audio"] as const).flatMap((name) => {
    const field = model.fields[name];
    if (!field || !isChoice(field)) return [];
    const small = name === "resolution" && model.kind === "video" ? field.values.slice(0, 1) : field.values;
    return [...new Set([small[0], small.at(-1)])].map((value) => ({ ...short, [name]: value ?? null }));
  });
  return [least, ...more];
};

test("every shipped model delivers its first and last resolution, aspect ratio and audio option without a mismatch", async () => {
  const catalogue = builtInCatalogue();
  const harness = await openHarness({ catalogue, providers: DIALECT_IDS, simulate: { speed: 50 } });
  const samples = `${harness.simulator.url}/samples`;
  const models = casesOfShare("shipped models", catalogue.models, ({ id }) => id);
  const orders = models.flatMap((model) => inputsOf(model, samples).map((input) => ({ model: model.id, input })));
  const held: string[] = [];
  const lane = async () => {
    for (let one = orders.pop(); one; one = orders.pop()) {
      const { status: answered, body } = await harness.request("POST", "/v1/generations", { body: one });
      // No route accepts this value together with the shortest duration.
      if (answered === 422) continue;
      const id = String(body.id);
      const { status } = await harness.until(id);
      const found = await harness.store.findGeneration(id);
      const [attempt] = await harness.store.attemptsOf(found?.seq ?? 0);
      if (status !== "succeeded" || attempt?.state !== "delivered")
        held.push(`${one.model} ${JSON.stringify(one.input)}: ${attempt?.state} ${attempt?.failure?.detail}`);
    }
  };
  expect(new Set(orders.map(({ model }) => model)).size).toBe(models.length);
  await Promise.all(Array.from({ length: 8 }, lane));
  expect(held).toEqual([]);
  await harness.close();
}, 240_000);
