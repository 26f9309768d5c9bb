// Tests of passivation: idle statecharts leave memory while their generations run, without an effect on the result.
import { expect, test } from "bun:test";
import { REST_MS } from "../../actors/supervisor/passivation.ts";
import { FAL, REPLICATE } from "./catalogue.ts";
import { INITIAL_CREDITS, openScene } from "./fixture.ts";

test("ten generations run, fall back and succeed with at most two statecharts in memory", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE], factor: 1, env: { GENROUTER_LIMITS__MAX_LIVE_ACTORS: "2" } });
  scene.simulator.script({ fault: "late-ms", ms: 400_000 });
  const ids = await Promise.all(Array.from({ length: 10 }, async () => (await scene.begin()).id));
  for (const id of ids) await scene.untilAttempts(id, "accepted");
  const { supervisor } = scene.components;
  const seq = await scene.seqOf(ids[0] ?? "");
  // An actor that was busy during the last pass is passivated after the next event of any actor.
  await scene.eventually(() => {
    supervisor.report(seq, { type: "woken", n: 99, atMs: scene.clock.nowMs() });
    return supervisor.counts().live <= 2;
  }, "the passivation");
  expect(scene.components.supervisor.counts()).toMatchObject({ running: 10, deadlines: 10 });
  expect(scene.components.supervisor.counts().live).toBeLessThanOrEqual(2);
  // The provider forgets half of the jobs: their actors are restored and fall back.
  scene.simulator.jobs().forEach((job, at) => {
    if (at % 2 === 0) job.faults.poll = { name: "forget", after_polls: 0 };
  });
  await scene.hurry(async () =>
    (await Promise.all(ids.map((id) => scene.show(id)))).every(({ completed_at }) => completed_at !== null),
  );
  const ended = await Promise.all(ids.map((id) => scene.show(id)));
  expect(ended.map(({ status }) => status)).toEqual(ids.map(() => "succeeded"));
  expect(ended.map(({ cost_usd }) => cost_usd).sort()).toEqual([...Array<number>(5).fill(0.2), ...Array<number>(5).fill(0.25)]);
  expect(await scene.balance()).toEqual({ available: INITIAL_CREDITS - 225, held: 0, charged: 225, inProgress: 0 });
  expect(scene.components.supervisor.counts()).toEqual({ queued: 0, running: 0, live: 0, deadlines: 0 });
});

test("passivates a statechart after one minute without events, and restores it when its result arrives", async () => {
  const scene = await openScene({ routes: [FAL], factor: 0 });
  scene.simulator.script({ fault: "late-ms", ms: 4 * REST_MS });
  const first = await scene.begin();
  await scene.untilAttempts(first.id, "accepted");
  scene.clock.skip(REST_MS - 1);
  await scene.occupy();
  expect(scene.components.supervisor.counts()).toMatchObject({ running: 2, live: 2 });
  scene.clock.skip(1);
  await scene.occupy();
  expect(scene.components.supervisor.counts()).toMatchObject({ running: 3, live: 2 });
  await scene.hurry(async () => (await scene.show(first.id)).completed_at !== null);
  expect(await scene.show(first.id)).toMatchObject({ status: "succeeded", cost_usd: 0.2 });
});

test("retries a failed read while it restores a statechart, without losing the result", async () => {
  let failures = 0;
  let isFailing = false;
  const scene = await openScene({
    routes: [FAL],
    env: { GENROUTER_LIMITS__MAX_LIVE_ACTORS: "1" },
    around: (store) => ({
      ...store,
      unfinished: async (afterSeq, limit) => {
        if (!isFailing || failures === 3) return store.unfinished(afterSeq, limit);
        failures += 1;
        throw new Error("the disk could not be read");
      },
    }),
  });
  scene.simulator.script({ fault: "late-ms", ms: 10_000 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  await scene.occupy();
  expect(scene.components.supervisor.counts()).toMatchObject({ running: 2, live: 1 });
  isFailing = true;
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  expect(failures).toBe(3);
  expect(await scene.show(id)).toMatchObject({ status: "succeeded", cost_usd: 0.2 });
  expect(scene.components.readiness()).toEqual({ ready: true, faults: [] });
});
