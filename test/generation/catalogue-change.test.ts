// The catalogue is replaced while generations wait and run: what was agreed stays, what was not begun follows the new one.
import { expect, test } from "bun:test";
import { catalogueOf, FAL, INPUT, MODEL, REPLICATE, SPARE } from "./catalogue.ts";
import { expectEnd, INITIAL_CREDITS, openScene } from "./fixture.ts";

test("prices are those quoted at submission, on the first route and on every one after it", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 100_000 });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.rooms.replaceCatalogue(catalogueOf([{ ...FAL, usd: "0.99" }, { ...REPLICATE, usd: "0.88" }, SPARE]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  expect(ended.quoted_usd).toBe(0.2);
  expect(await scene.begin()).toMatchObject({ quoted_usd: 0.3, reserved_usd: 0.99 });
  await scene.hurry(async () => (await scene.balance()).held === 0);
});

test("a route that is removed while its attempt runs: the attempt finishes and is charged", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 100_000 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.rooms.replaceCatalogue(catalogueOf([REPLICATE]));
  scene.clock.skip(100_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("a route that is removed while its answer is lost and its provider answers nothing is given up after the usual time", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "5xx", endpoint: "life/fal" });
  scene.simulator.script({ fault: "list-5xx", provider: "fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "sending");
  scene.rooms.replaceCatalogue(catalogueOf([REPLICATE]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["lost", "delivered"], received: ["fal", "replicate"] });
  const tookMs = Date.parse(ended.completed_at ?? "") - Date.parse(ended.created_at);
  expect(tookMs).toBeGreaterThanOrEqual(120_000);
  expect(tookMs).toBeLessThan(300_000);
});

test("a route that is removed before its turn is skipped, and does not count", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.rooms.replaceCatalogue(catalogueOf([FAL, SPARE]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  await expectEnd(scene, id, { ends: 30, attempts: ["failed", "delivered"], received: ["fal", "spare"] });
});

test("every route left is removed: the attempts that were made have failed", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.rooms.replaceCatalogue(catalogueOf([FAL]));
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["failed"], received: ["fal"] });
});

test("queued, and every planned route is removed: no route could take it, nothing was tried or charged", async () => {
  const scene = await openScene({ routes: [FAL], env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  await scene.occupy();
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.rooms.replaceCatalogue(catalogueOf([REPLICATE]));
  await expectEnd(scene, id, { ends: "provider_unavailable", attempts: [], received: ["fal"] });
});

test("queued, and the cheapest planned route is removed: it begins on the next one, at the price quoted for that", async () => {
  const scene = await openScene({ routes: [{ ...FAL, seats: 1 }, REPLICATE] });
  await scene.occupy();
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.rooms.replaceCatalogue(catalogueOf([{ ...REPLICATE, usd: "0.99" }]));
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["delivered"], received: ["fal", "replicate"] });
  expect(ended.quoted_usd).toBe(0.2);
});

test("more seats are there as soon as the new catalogue says so", async () => {
  const scene = await openScene({ routes: [{ ...FAL, seats: 1 }] });
  await scene.occupy();
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.rooms.replaceCatalogue(catalogueOf([{ ...FAL, seats: 2 }]));
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal", "fal"] });
});

test("a model whose routes were all removed can no longer be ordered; what was accepted goes on", async () => {
  const scene = await openScene({ routes: [FAL] });
  scene.simulator.script({ fault: "late-ms", ms: 60_000 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  const renamed = catalogueOf([SPARE]);
  scene.rooms.replaceCatalogue({ ...renamed, models: [], model: () => undefined, route: () => undefined });
  const refused = await scene.ask("POST", "/v1/generations", { body: { model: MODEL, input: INPUT } });
  expect(refused).toMatchObject({ status: 422, body: { error: { code: "model_not_available" } } });
  expect((await scene.ask("GET", "/v1/models", { key: null })).body.data).toEqual([]);
  scene.clock.skip(60_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect((await scene.balance()).available).toBe(INITIAL_CREDITS - 20);
});
