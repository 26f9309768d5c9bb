// A route that is down for a fault of its operator's set-up comes back when the operator has seen to it, and need not be waited for.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import type { House } from "../harness.ts";
import { openApiHouse } from "./harness.ts";

const MODEL = "kokoro-82m";
const ROUTE = "kokoro-82m/fal";

let house: House;
beforeAll(async () => {
  house = await openApiHouse({ providers: ["fal"], factor: 20, catalogue: builtInCatalogue() });
});
afterAll(() => house.close());

const listed = async (): Promise<boolean> => {
  const { body } = await house.ask("GET", "/v1/models", { key: null });
  return (body.data as { id: string }[]).some(({ id }) => id === MODEL);
};
beforeEach(async () => {
  house.simulator.script({ fault: "401" });
  const made = await house.submit(MODEL, { prompt: "a word" });
  expect(await house.until(made.id)).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "provider_failed" } });
  house.simulator.clearScript();
  await house.told();
  expect(await listed()).toBe(false);
});
const delivers = async (): Promise<void> => {
  expect(await listed()).toBe(true);
  const made = await house.submit(MODEL, { prompt: "a word" });
  expect(await house.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
};

test("with another key of its provider", async () => {
  house.rooms.rekeyed("fal", "another-key");
  await house.told();
  await delivers();
});

test("when it is enabled", async () => {
  await house.rooms.post({ deed: "switch-route", routeId: ROUTE, reason: null, atMs: house.clock.nowMs() });
  await delivers();
});
