// Tests of faults that only the operator can fix: a rejected credential or an empty provider account.
// The first such response opens the route's circuit breaker and is logged with the action that is needed.
import { expect, test } from "bun:test";
import { readSettings } from "../../src/config/load.ts";
import { createInventory } from "../../src/routing/inventory.ts";
import { catalogueOf, FAL, REPLICATE } from "./catalogue.ts";
import { openScene, type Scene } from "./fixture.ts";

const ROUTE = "life/fal";
const alarms = (scene: Scene) => scene.lines.flatMap(({ event, fields }) => (event === "route needs operator" ? [fields] : []));
/** The route as `genrouter routes list` shows it. */
const shown = async ({ store }: Scene) => {
  const parts = {
    settings: () => readSettings({}),
    simulated: true,
    facts: [{ id: "fal", account: "fal" }] as never,
    reads: store,
  };
  const rows = await createInventory({ ...parts, catalogue: () => catalogueOf([FAL, REPLICATE]) }).routes();
  return rows.find(({ id }) => id === ROUTE);
};

const FAULTS = [
  ["401", "config_fault"],
  ["403", "config_fault"],
  ["402", "balance"],
] as const;

test.each(FAULTS)(
  "one %s at submission opens the route, the next route delivers, and the log names the cause (%s)",
  async (fault, cls) => {
    const scene = await openScene({ routes: [FAL, REPLICATE] });
    scene.simulator.script({ fault, endpoint: ROUTE, times: 1 });
    const { id } = await scene.begin();
    await scene.hurry(async () => (await scene.show(id)).completed_at !== null, 500);
    expect(await scene.show(id)).toMatchObject({ status: "succeeded", attempts: 2, cost_usd: 0.25 });

    const named = { route_id: ROUTE, provider: "fal", error_code: cls };
    const action = expect.stringContaining(cls === "balance" ? "add credit" : "genrouter providers set-key fal");
    expect(alarms(scene)).toEqual([{ ...named, reason: expect.any(String), action }]);
    await scene.eventually(async () => (await shown(scene))?.state === "down");
    expect(await shown(scene)).toMatchObject({ state: "down", reason: expect.stringContaining(`${cls}: `) });

    // While the route is open, no plan uses it. After its pause it is tried again.
    expect((await scene.begin()).quoted_usd).toBe(0.25);
    scene.clock.skip(600_000);
    await scene.eventually(async () => (await shown(scene))?.state === "up");
    const next = await scene.begin();
    expect(next.quoted_usd).toBe(0.2);
    await scene.hurry(async () => (await scene.show(next.id)).completed_at !== null, 500);
    expect(await scene.show(next.id)).toMatchObject({ attempts: 1, cost_usd: 0.2 });
    expect(alarms(scene)).toHaveLength(1);
  },
);

test('logs no "route needs operator" for invalid input, a refused input, 429 and 5xx', async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  for (const fault of ["invalid", "429", "5xx", "refuse"] as const) {
    scene.simulator.script({ fault, endpoint: ROUTE, times: 1 });
    const { id } = await scene.begin();
    await scene.hurry(async () => (await scene.show(id)).completed_at !== null, 500);
  }
  expect(alarms(scene)).toEqual([]);
});
