// Tests of routes with an end date: the service warns the operator before it, and no plan contains them after it.
import { expect, test } from "bun:test";
import { testClock } from "../clock.ts";
import { catalogueOf, FAL, MODEL, REPLICATE } from "./catalogue.ts";
import { expectEnd, openScene, type Scene } from "./fixture.ts";

const DAY_MS = 86_400_000;
const ENDS = "2026-12-03";
const OVER_MS = Date.UTC(2026, 11, 4);
const reported = ({ lines }: Scene) =>
  lines.flatMap(({ event, fields }) => (event === "route retiring" ? [`${fields.route_id}: ${fields.reason}`] : []));
const pricesShown = async (scene: Scene) => {
  const { body } = await scene.request("GET", "/v1/models", { key: null });
  const [model] = body.data as { price: { rates: { usd: number }[] } }[];
  return model?.price.rates.map(({ usd }) => usd);
};
const openAt = (atMs: number, routes = [{ ...FAL, ends: ENDS }, REPLICATE]) => openScene({ routes, clock: testClock(100, atMs) });

test("uses a route on its last day, and quotes, plans and lists the next route right after it", async () => {
  const scene = await openAt(OVER_MS - 600_000);
  const { id, quoted_usd } = await scene.begin();
  expect(quoted_usd).toBe(0.2);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(await pricesShown(scene)).toEqual([0.2]);
  scene.clock.skip(600_000);
  const after = await scene.begin();
  expect(after.quoted_usd).toBe(0.25);
  expect(await scene.until(after.id)).toMatchObject({ status: "succeeded", cost_usd: 0.25 });
  expect(scene.received()).toEqual(["fal", "replicate"]);
  expect(await pricesShown(scene)).toEqual([0.25]);
});

test("skips an ended route in a plan that was made before its end", async () => {
  const scene = await openScene({
    routes: [{ ...FAL, ends: ENDS }, REPLICATE],
    clock: testClock(100, OVER_MS - 600_000),
    env: { GENROUTER_LIMITS__MAX_RUNNING: "1" },
  });
  await scene.occupy({ ms: 500_000 });
  const { id } = await scene.begin();
  expect((await scene.show(id)).status).toBe("queued");
  scene.clock.stall(700_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["delivered"], received: ["fal", "replicate"] });
  const events = await scene.store.eventsOf(await scene.seqOf(id));
  expect(JSON.stringify(events)).toContain('"reason":"ended"');
});

test("rejects a submission with 422 and removes the model from the list when its last route has ended", async () => {
  const scene = await openAt(OVER_MS, [{ ...FAL, ends: ENDS }]);
  const answered = await scene.request("POST", "/v1/generations", { body: { model: MODEL, input: { prompt: "x" } } });
  expect(answered.status).toBe(422);
  expect(answered.text).toContain("model_not_available");
  expect((await scene.request("GET", "/v1/models", { key: null })).body.data).toEqual([]);
});

test('logs "route retiring" from 30 days before the end, at the start and after a catalogue change', async () => {
  expect(reported(await openAt(OVER_MS - 30 * DAY_MS - 600_000))).toEqual([]);
  const scene = await openAt(OVER_MS - 30 * DAY_MS);
  expect(reported(scene)).toEqual([`${MODEL}/fal: its last day is ${ENDS}`]);
  scene.components.replaceCatalogue(catalogueOf([{ ...FAL, ends: "2026-11-10" }, REPLICATE]));
  expect(reported(scene).slice(1)).toEqual([`${MODEL}/fal: its last day is 2026-11-10`]);
  expect(reported(await openAt(OVER_MS))).toEqual([`${MODEL}/fal: its last day was ${ENDS}: it is in no plan any more`]);
});
