// Property test of random faults over random plans: every generation ends in time and the ledger is correct.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { FAULTS, type FaultName } from "../../src/simulator/faults.ts";
import type { Rule } from "../../src/simulator/simulator.ts";
import { MODEL, type TestRoute } from "./catalogue.ts";
import { openScene, type Scene } from "./fixture.ts";

const CREDITS = 100_000;
/** Another seed or more runs: SEED=7 RUNS=500. */
const SEED = Number(process.env.SEED ?? 20_261_019);
const RUNS = Number(process.env.RUNS ?? 25);
/** Longest `max_wait_s` of a submission. */
const LONGEST_WAIT_S = 2000;
const LONGEST_ROUTE_S = 300;
/** Collecting can take ten minutes after a route's time; up to three routes in sequence, and a late result at the end. */
const BOUND_MS = (LONGEST_WAIT_S + 4 * (LONGEST_ROUTE_S + 600)) * 1000;

/** Faults that need a second address or much memory have separate tests. */
const NAMES = (Object.keys(FAULTS) as FaultName[]).filter((name) => !["elsewhere", "redirect", "poll-huge"].includes(name));

const route = fc.record({
  provider: fc.constantFrom("fal" as const, "replicate" as const),
  cents: fc.integer({ min: 1, max: 99 }),
  timeoutS: fc.integer({ min: 30, max: LONGEST_ROUTE_S }),
  maxRunning: fc.integer({ min: 1, max: 3 }),
  onRefusal: fc.constantFrom("fail" as const, "next" as const),
  onLost: fc.constantFrom("next" as const, "next" as const, "hold" as const, "fail" as const),
});
const rule = fc.record({
  fault: fc.constantFrom(...NAMES),
  on: fc.integer({ min: 0, max: 2 }),
  times: fc.integer({ min: 1, max: 4 }),
});
const order = fc.record({ afterMs: fc.integer({ min: 0, max: 60_000 }), waitS: fc.integer({ min: 20, max: LONGEST_WAIT_S }) });
const world = fc.record({
  routes: fc.array(route, { minLength: 1, maxLength: 3 }),
  rules: fc.array(rule, { minLength: 0, maxLength: 8 }),
  orders: fc.array(order, { minLength: 1, maxLength: 4 }),
  stepMs: fc.constantFrom(300, 1000, 3000),
  /** All submissions have the same input, so a provider's list cannot distinguish their jobs. */
  areTwins: fc.boolean(),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const routesOf = ({ routes }: World): TestRoute[] =>
  routes.map(({ cents, ...each }, at) => ({
    ...each,
    name: `r${at}`,
    usd: (cents / 100).toFixed(2),
    expectedS: 1,
  }));

/** Checks a world in which everything has ended, by the database, the API and the providers' log. */
const audit = async (scene: Scene, { routes, areTwins }: World, generations: readonly { id: string; prompt: string }[]) => {
  let charged = 0;
  const submissions = scene.simulator.submissions();
  const ids = generations.map(({ id }) => id);
  for (const { id, prompt } of generations) {
    const shown = await scene.show(id);
    const attempts = await scene.attempts(id);
    charged += Math.round(Number(shown.cost_usd) * 100);
    expect(shown.attempts).toBe(attempts.length);
    expect(attempts.length).toBeLessThanOrEqual(routes.length);
    expect(new Set(attempts.map((attempt) => attempt.route.routeId)).size).toBe(attempts.length);
    const delivered = attempts.filter(({ state }) => state === "delivered");
    expect(delivered.length).toBe(shown.status === "succeeded" ? 1 : 0);
    if (delivered[0]) expect(delivered[0].priceCredits).toBe(Math.round(Number(shown.cost_usd) * 100));
    for (const { ref, state, request, route } of areTwins ? [] : attempts) {
      const seen = submissions.filter(({ endpoint, input }) => endpoint === route.endpoint && input?.prompt === prompt);
      if (route.provider === "fal") expect(seen.every((submission) => submission.ref === ref)).toBe(true);
      // A submission is resent only if it was provably not accepted, and an absent attempt was never accepted.
      expect(seen.filter(({ accepted }) => accepted).length).toBeLessThanOrEqual(1);
      if (state === "absent") expect(seen.some(({ accepted }) => accepted)).toBe(false);
      if (request === null) expect(seen).toEqual([]);
    }
  }
  const owned = (await Promise.all(ids.map((id) => scene.attempts(id)))).flat().flatMap(({ job }) => (job ? [job.jobId] : []));
  expect(new Set(owned).size).toBe(owned.length);
  const known = new Set(scene.simulator.jobs().map(({ id }) => id));
  expect(owned.filter((jobId) => !known.has(jobId))).toEqual([]);
  expect(await scene.balance()).toEqual({ available: CREDITS - charged, held: 0, charged, inProgress: 0 });
  await scene.verify();
};

test("every generation ends in time, credits are conserved and no job is used twice, with random faults and plans", async () => {
  let ended = 0;
  const ends = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(world, async (drawn) => {
      const scene = await openScene({
        routes: routesOf(drawn),
        callTimes: { submitMs: 60, pollMs: 60, findMs: 60, cancelMs: 60 },
      });
      for (const { fault, on, times } of drawn.rules) scene.simulator.script({ fault, times, endpoint: `life/r${on}` } as Rule);
      const generations: { id: string; prompt: string }[] = [];
      for (const [at, { afterMs, waitS }] of drawn.orders.entries()) {
        scene.clock.skip(afterMs);
        const prompt = drawn.areTwins ? "twins" : `number ${at}`;
        const body = { model: MODEL, input: { prompt }, max_wait_s: waitS };
        const answered = await scene.request("POST", "/v1/generations", { body });
        // The circuit breakers of all routes of the model may be open by now.
        if (answered.status === 202) generations.push({ id: String(answered.body.id), prompt });
        else expect(answered).toMatchObject({ status: 503, body: { error: { code: "model_unavailable" } } });
      }
      const begunAtMs = scene.clock.nowMs();
      await scene.hurry(async () => (await scene.balance()).inProgress === 0, drawn.stepMs);
      expect(scene.clock.nowMs() - begunAtMs).toBeLessThan(BOUND_MS);
      await audit(scene, drawn, generations);
      // Late results may still arrive. They must not change the resource.
      const showAll = () => Promise.all(generations.map(({ id }) => scene.show(id)));
      const before = await showAll();
      let turns = 0;
      await scene.hurry(() => ++turns > 5, 100_000);
      const after = await showAll();
      const stable = (all: typeof before) =>
        all.map((shown) => ({ ...shown, output: shown.output && { ...shown.output, urls: [] } }));
      expect(stable(after)).toEqual(stable(before));
      for (const { status, error } of after) ends.set(error?.code ?? status, (ends.get(error?.code ?? status) ?? 0) + 1);
      ended += generations.length;
      await scene.close();
    }),
    { seed: SEED, numRuns: RUNS, endOnFailure: true },
  );
  const reported = [...ends].map(([end, times]) => `${times} ${end}`).join(", ");
  process.stdout.write(`seed ${SEED}: ${RUNS} worlds, ${ended} generations: ${reported}\n`);
  expect(ends.size).toBeGreaterThan(1);
}, 120_000);
