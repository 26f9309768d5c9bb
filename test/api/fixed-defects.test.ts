// Tests that a route which opened for a configuration fault closes as soon as the operator fixes it.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import type { Harness } from "../harness.ts";
import { openApiHarness } from "./harness.ts";

const MODEL = "kokoro-82m";
const ROUTE = "kokoro-82m/fal";

let harness: Harness;
beforeAll(async () => {
  harness = await openApiHarness({ providers: ["fal"], factor: 20, catalogue: builtInCatalogue() });
});
afterAll(() => harness.close());

const listed = async (): Promise<boolean> => {
  const { body } = await harness.request("GET", "/v1/models", { key: null });
  return (body.data as { id: string }[]).some(({ id }) => id === MODEL);
};
beforeEach(async () => {
  harness.simulator.script({ fault: "401" });
  const made = await harness.submit(MODEL, { prompt: "a word" });
  expect(await harness.until(made.id)).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "provider_failed" } });
  harness.simulator.clearScript();
  await harness.synchronize();
  expect(await listed()).toBe(false);
});
const delivers = async (): Promise<void> => {
  expect(await listed()).toBe(true);
  const made = await harness.submit(MODEL, { prompt: "a word" });
  expect(await harness.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
};

test("offers the model again as soon as its provider has a new key", async () => {
  harness.components.rekeyed("fal", "another-key");
  await harness.synchronize();
  await delivers();
});

test("offers the model again as soon as the operator enables its route", async () => {
  await harness.components.post({ mutation: "switch-route", routeId: ROUTE, reason: null, atMs: harness.clock.nowMs() });
  await delivers();
});
