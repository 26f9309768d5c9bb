// Tests of circuit breakers: which results of generations open a route, the effect on quotes, and recovery.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE } from "./catalogue.ts";
import { openScene, type Scene } from "./fixture.ts";
import { openLasting } from "./lasting.ts";

/** Runs generations one after the other and returns the cost of each in credits; 0 means failed. */
const run = async (scene: Scene, times: number): Promise<number[]> => {
  const costs: number[] = [];
  for (let each = 0; each < times; each += 1) {
    const { id } = await scene.begin();
    await scene.hurry(async () => (await scene.show(id)).completed_at !== null, 500);
    costs.push(Math.round(Number((await scene.show(id)).cost_usd) * 100));
  }
  return costs;
};
const quoted = async (scene: Scene): Promise<number> => {
  const { quoted_usd, id } = await scene.begin();
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null, 500);
  return quoted_usd;
};
const stateOf = async (scene: Scene): Promise<string> => {
  const saved = (await scene.store.routeHealth()).get("life/fal");
  return saved === undefined ? "never judged" : String(JSON.parse(saved).value);
};

test("opens a route after five consecutive failures, and closes it after a delivery in the half-open state", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "fail", endpoint: "life/fal", times: 5 });
  expect(await run(scene, 4)).toEqual([25, 25, 25, 25]);
  expect(await stateOf(scene)).toBe("never judged");
  expect(await run(scene, 1)).toEqual([25]);
  await scene.eventually(async () => (await stateOf(scene)) === "open");
  expect((await scene.begin()).quoted_usd).toBe(0.25);
  scene.clock.skip(30_000);
  await scene.eventually(async () => (await stateOf(scene)) === "halfOpen");
  expect(await run(scene, 1)).toEqual([20]);
  await scene.eventually(async () => (await stateOf(scene)) === "closed");
});

test("opens the route for twice as long after a failure in the half-open state", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "fail", endpoint: "life/fal", times: 6 });
  await run(scene, 5);
  scene.clock.skip(30_000);
  await run(scene, 1);
  await scene.eventually(async () => (await stateOf(scene)) === "open");
  scene.clock.skip(30_000);
  expect(await stateOf(scene)).toBe("open");
  scene.clock.skip(30_000);
  await scene.eventually(async () => (await stateOf(scene)) === "halfOpen");
});

test("resets the count of failures after a delivery", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  for (let round = 0; round < 2; round += 1) {
    scene.simulator.script({ fault: "fail", endpoint: "life/fal", times: 4 });
    expect(await run(scene, 5)).toEqual([25, 25, 25, 25, 20]);
  }
  expect(await stateOf(scene)).toBe("never judged");
});

const SAYS_NOTHING: Rule[] = [{ fault: "refuse" }, { fault: "invalid" }];
for (const rule of SAYS_NOTHING)
  test(`does not count the fault ${rule.fault}, which is about the input, against the route`, async () => {
    const scene = await openScene({ routes: [FAL, REPLICATE] });
    scene.simulator.script({ ...rule, endpoint: "life/fal", times: 8 });
    await run(scene, 8);
    expect(await stateOf(scene)).toBe("never judged");
    expect(await quoted(scene)).toBe(0.2);
  });

const COUNTS: [promise: string, rules: Rule[]][] = [
  ["lost responses", [{ fault: "drop" }]],
  ["jobs that never end", [{ fault: "stuck" }]],
  ["jobs that the provider forgets", [{ fault: "stuck" }, { fault: "forget" }]],
];
for (const [what, rules] of COUNTS)
  test(`opens the route after five ${what}`, async () => {
    const scene = await openScene({ routes: [{ ...FAL, timeoutS: 100 }, REPLICATE] });
    for (const rule of rules) scene.simulator.script({ ...rule, endpoint: "life/fal" });
    const ids = await Promise.all(Array.from({ length: 5 }, async () => (await scene.begin()).id));
    await scene.hurry(async () =>
      (await Promise.all(ids.map((id) => scene.show(id)))).every((shown) => shown.completed_at !== null),
    );
    await scene.eventually(() =>
      scene.lines.some(({ event, fields }) => event === "route state changed" && fields.state === "open"),
    );
  });

test("opens the route after five consecutive unreadable results", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "html", endpoint: "life/fal" });
  expect(await run(scene, 5)).toEqual([25, 25, 25, 25, 25]);
  await scene.eventually(async () => (await stateOf(scene)) === "open");
});

test("does not count a job that the service cancelled against its route", async () => {
  const scene = await openScene({ routes: [{ ...FAL, timeoutS: 100 }, REPLICATE] });
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  expect(await run(scene, 4)).toEqual([25, 25, 25, 25]);
  await scene.hurry(() => scene.simulator.jobs().filter(({ state }) => state === "cancelled").length === 4);
  const watched = () => scene.components.effects.size();
  await scene.hurry(() => watched() === 0);
  expect(await stateOf(scene)).toBe("never judged");
});

test("keeps a route that opened after failures open over a restart until its pause ends", async () => {
  const lasting = await openLasting([FAL, REPLICATE]);
  lasting.first.simulator.script({ fault: "fail", endpoint: "life/fal", times: 5 });
  await run(lasting.first, 5);
  await lasting.first.eventually(async () => (await stateOf(lasting.first)) === "open");
  await lasting.die();
  const again = await lasting.reopen();
  const { key } = lasting.tenant;
  const order = async () =>
    (await again.request("POST", "/v1/generations", { key, body: { model: "life", input: { prompt: "x" } } })).body.quoted_usd;
  expect(await order()).toBe(0.25);
  again.clock.skip(30_000);
  expect(await order()).toBe(0.2);
  await again.hurry(async () => (await again.balance()).inProgress === 0, 500);
  expect(await stateOf(again)).toBe("closed");
});

test("half-opens a route that opened for a configuration fault immediately after a restart", async () => {
  const lasting = await openLasting([FAL, REPLICATE]);
  lasting.first.simulator.script({ fault: "401", endpoint: "life/fal", times: 1 });
  await run(lasting.first, 1);
  await lasting.first.eventually(async () => (await stateOf(lasting.first)) === "open");
  await lasting.die();
  const again = await lasting.reopen();
  await again.eventually(async () => (await stateOf(again)) === "halfOpen");
  const { key } = lasting.tenant;
  const body = { model: "life", input: { prompt: "x" } };
  expect((await again.request("POST", "/v1/generations", { key, body })).body.quoted_usd).toBe(0.2);
  await again.hurry(async () => (await again.balance()).inProgress === 0, 500);
  expect(await stateOf(again)).toBe("closed");
});

test("completes a start during which a route half-opens while the store is still being read slowly", async () => {
  const lasting = await openLasting([FAL, REPLICATE]);
  lasting.first.simulator.script({ fault: "401", endpoint: "life/fal", times: 1 });
  await run(lasting.first, 1);
  await lasting.first.eventually(async () => (await stateOf(lasting.first)) === "open");
  await lasting.die();
  const slow = async <T>(answer: Promise<T>): Promise<T> => {
    await Bun.sleep(20);
    return answer;
  };
  const again = await lasting.reopen({
    around: (store) => ({
      ...store,
      switchedOff: () => slow(store.switchedOff()),
      recentDeliveries: (kept) => slow(store.recentDeliveries(kept)),
      lastSeenMs: () => slow(store.lastSeenMs()),
      restored: () => slow(store.restored()),
    }),
  });
  await again.eventually(async () => (await stateOf(again)) === "halfOpen");
});

test("derives the expected time of a route from twenty deliveries and keeps it over a restart", async () => {
  const lasting = await openLasting([{ ...FAL, expectedS: 10 }, REPLICATE]);
  const { first } = lasting;
  first.simulator.script({ fault: "late-ms", ms: 60_000, endpoint: "life/fal" });
  const ids = await Promise.all(Array.from({ length: 19 }, async () => (await first.begin()).id));
  await first.hurry(async () => (await first.balance()).inProgress === 0);
  const hurried = { body: { model: "life", input: { prompt: "x" }, max_wait_s: 50 } };
  // Nineteen deliveries are too few: the catalogue's value applies.
  const twentieth = await first.request("POST", "/v1/generations", hurried);
  expect(twentieth.body.quoted_usd).toBe(0.2);
  await first.hurry(async () => (await first.balance()).inProgress === 0);
  expect((await first.request("POST", "/v1/generations", hurried)).body.quoted_usd).toBe(0.25);
  await first.hurry(async () => (await first.balance()).inProgress === 0);
  expect(ids).toHaveLength(19);
  await lasting.die();
  const again = await lasting.reopen();
  expect((await again.request("POST", "/v1/generations", { ...hurried, key: lasting.tenant.key })).body.quoted_usd).toBe(0.25);
});
