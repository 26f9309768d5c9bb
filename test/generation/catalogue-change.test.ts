// Tests of a catalogue change while generations wait and run: quoted prices stay, new attempts follow the new catalogue.
import { expect, test } from "bun:test";
import { catalogueOf, FAL, INPUT, MODEL, REPLICATE, SPARE } from "./catalogue.ts";
import { expectEnd, INITIAL_CREDITS, openScene } from "./fixture.ts";

test("charges the price quoted at submission on the first route and on every fallback after a price change", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 100_000 });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.components.replaceCatalogue(catalogueOf([{ ...FAL, usd: "0.99" }, { ...REPLICATE, usd: "0.88" }, SPARE]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  expect(ended.quoted_usd).toBe(0.2);
  expect(await scene.begin()).toMatchObject({ quoted_usd: 0.3, reserved_usd: 0.99 });
  await scene.hurry(async () => (await scene.balance()).held === 0);
});

test("completes and charges a running attempt when its route is removed", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 100_000 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.components.replaceCatalogue(catalogueOf([REPLICATE]));
  scene.clock.skip(100_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("gives up a lost submission after the usual time when its route is removed and its provider returns errors", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "5xx", endpoint: "life/fal" });
  scene.simulator.script({ fault: "list-5xx", provider: "fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "sending");
  scene.components.replaceCatalogue(catalogueOf([REPLICATE]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["lost", "delivered"], received: ["fal", "replicate"] });
  const tookMs = Date.parse(ended.completed_at ?? "") - Date.parse(ended.created_at);
  expect(tookMs).toBeGreaterThanOrEqual(120_000);
  expect(tookMs).toBeLessThan(300_000);
});

test("skips a planned route that is removed before its attempt, and does not count it as an attempt", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.components.replaceCatalogue(catalogueOf([FAL, SPARE]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  await expectEnd(scene, id, { ends: 30, attempts: ["failed", "delivered"], received: ["fal", "spare"] });
});

test("fails with provider_failed when every remaining route is removed after a failed attempt", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.components.replaceCatalogue(catalogueOf([FAL]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["failed"], received: ["fal"] });
});

test("fails a queued generation with provider_unavailable, without an attempt or a charge, when all its planned routes are removed", async () => {
  const scene = await openScene({ routes: [FAL], env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  await scene.occupy();
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.components.replaceCatalogue(catalogueOf([REPLICATE]));
  await expectEnd(scene, id, { ends: "provider_unavailable", attempts: [], received: ["fal"] });
});

test("starts a queued generation on the next planned route at its quoted price when the cheapest route is removed", async () => {
  const scene = await openScene({ routes: [{ ...FAL, maxRunning: 1 }, REPLICATE] });
  await scene.occupy();
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.components.replaceCatalogue(catalogueOf([{ ...REPLICATE, usd: "0.99" }]));
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["delivered"], received: ["fal", "replicate"] });
  expect(ended.quoted_usd).toBe(0.2);
});

test("uses more places on a route immediately when the new catalogue allows more", async () => {
  const scene = await openScene({ routes: [{ ...FAL, maxRunning: 1 }] });
  await scene.occupy();
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.components.replaceCatalogue(catalogueOf([{ ...FAL, maxRunning: 2 }]));
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal", "fal"] });
});

test("rejects submissions of a model without routes with 422 and completes its running generation", async () => {
  const scene = await openScene({ routes: [FAL] });
  scene.simulator.script({ fault: "late-ms", ms: 60_000 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  const renamed = catalogueOf([SPARE]);
  scene.components.replaceCatalogue({ ...renamed, models: [], model: () => undefined, route: () => undefined });
  const refused = await scene.request("POST", "/v1/generations", { body: { model: MODEL, input: INPUT } });
  expect(refused).toMatchObject({ status: 422, body: { error: { code: "model_not_available" } } });
  expect((await scene.request("GET", "/v1/models", { key: null })).body.data).toEqual([]);
  scene.clock.skip(60_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect((await scene.balance()).available).toBe(INITIAL_CREDITS - 20);
});
