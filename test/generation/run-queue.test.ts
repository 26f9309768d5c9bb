// Tests of the run queue: which generation waits, which is next, and the resource of a waiting generation.
import { expect, test } from "bun:test";
import type { Tenant } from "../harness.ts";
import { FAL, INPUT, MODEL, REPLICATE } from "./catalogue.ts";
import { expectEnd, INITIAL_CREDITS, openScene, type Scene } from "./fixture.ts";

const bodyOf = (id: string) => `${id.slice("gen_".length)}-`;
const beginAs = async (scene: Scene, { key }: Tenant): Promise<string> => {
  const { body, status } = await scene.request("POST", "/v1/generations", { key, body: { model: MODEL, input: INPUT } });
  expect(status).toBe(202);
  return String(body.id);
};

for (const [what, options] of [
  ["of the route", { routes: [{ ...FAL, maxRunning: 1 }, REPLICATE] }],
  ["of every route (max_running_per_route)", { env: { GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "1" } }],
  ["of the process (max_running)", { env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } }],
] as const)
  test(`keeps a generation queued without an attempt while all places ${what} are taken`, async () => {
    const scene = await openScene(options);
    await scene.occupy({ ms: 200_000 });
    const { id } = await scene.begin();
    scene.clock.skip(100_000);
    const waiting = await scene.show(id);
    expect(waiting).toMatchObject({ status: "queued", attempts: 0, quoted_usd: 0.2, cost_usd: null, output: null });
    expect(waiting.message).toBeUndefined();
    expect(await scene.attempts(id)).toEqual([]);
    expect(scene.received()).toEqual(["fal"]);
    scene.clock.skip(100_000);
    await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal", "fal"] });
  });

test("serves accounts in turn, and the oldest generation first within an account", async () => {
  const scene = await openScene({ routes: [{ ...FAL, maxRunning: 1 }] });
  await scene.occupy({ ms: 100_000 });
  const [a, b, c] = [await scene.newTenant(), await scene.newTenant(), await scene.newTenant()];
  const order: [string, Tenant][] = [
    ["a1", a],
    ["a2", a],
    ["a3", a],
    ["a4", a],
    ["b1", b],
    ["b2", b],
    ["c1", c],
  ];
  const names = new Map<string, string>();
  for (const [name, tenant] of order) names.set(bodyOf(await beginAs(scene, tenant)), name);
  scene.clock.skip(100_000);
  await scene.hurry(() => scene.received().length === 8);
  const served = scene.simulator.submissions().slice(1);
  expect(served.map(({ ref }) => names.get(ref?.slice(0, -1) ?? ""))).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  await scene.hurry(() => scene.components.supervisor.counts().running === 0);
});

test("keeps a fallback that waits for a full route in status running until it gets a place", async () => {
  const scene = await openScene({ routes: [FAL, { ...REPLICATE, maxRunning: 1 }] });
  await scene.occupy({ on: "replicate", ms: 300_000 });
  scene.simulator.script({ fault: "fail", endpoint: "life/fal", times: 1 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "failed");
  scene.clock.skip(100_000);
  const waiting = await scene.show(id);
  expect(waiting).toMatchObject({ status: "running", attempts: 1, reserved_usd: 0.25, cost_usd: null });
  expect(waiting.message).toBeUndefined();
  scene.clock.skip(200_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate", "fal", "replicate"] });
});

test("skips a planned route whose circuit breaker is open, and does not count it as an attempt", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 60_000, endpoint: "life/fal", times: 1 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  // Another generation opens the second route with a rejected credential.
  scene.simulator.script({ fault: "fail", endpoint: "life/fal", times: 1 });
  scene.simulator.script({ fault: "401", provider: "replicate", times: 1 });
  const other = await scene.begin();
  expect((await scene.until(other.id)).cost_usd).toBe(0.3);
  const [job] = scene.simulator.jobs();
  if (job) job.faults.run = { name: "fail-later" };
  scene.clock.skip(60_000);
  expect(await scene.until(id)).toMatchObject({ status: "succeeded", attempts: 2, cost_usd: 0.3 });
  expect((await scene.attempts(id)).map(({ route, state }) => `${route.routeId} ${state}`)).toEqual([
    "life/fal failed",
    "life/spare delivered",
  ]);
  expect(scene.received()).toEqual(["fal", "fal", "replicate", "spare", "spare"]);
});

test("serves more generations than places over several accounts and charges each once", async () => {
  const scene = await openScene({ routes: [{ ...FAL, maxRunning: 2 }, REPLICATE], env: { GENROUTER_LIMITS__MAX_RUNNING: "3" } });
  const tenants = await Promise.all(Array.from({ length: 3 }, () => scene.newTenant()));
  const ids = await Promise.all(Array.from({ length: 18 }, (_, at) => beginAs(scene, tenants[at % 3] as Tenant)));
  let most = 0;
  await scene.hurry(async () => {
    most = Math.max(most, scene.components.supervisor.counts().running);
    return scene.simulator.submissions().length === ids.length && scene.components.supervisor.counts().running === 0;
  }, 200);
  expect(most).toBeLessThanOrEqual(3);
  for (const tenant of tenants)
    expect(await scene.balance(tenant)).toEqual({ available: INITIAL_CREDITS - 120, held: 0, charged: 120, inProgress: 0 });
});
