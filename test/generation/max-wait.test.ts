// Tests of `max_wait_s`: which attempts it prevents, and the time limit of a route.
import { expect, test } from "bun:test";
import { FAL, INPUT, MODEL, REPLICATE } from "./catalogue.ts";
import { expectEnd, INITIAL_CREDITS, openScene } from "./fixture.ts";

const ONE_SLOT = { GENROUTER_LIMITS__MAX_RUNNING: "1" };

test("times out a generation that is queued for max_wait_s, without an attempt, and releases the whole hold", async () => {
  const scene = await openScene({
    routes: [
      { ...FAL, timeoutS: 2400 },
      { name: "spare", usd: "0.30" },
    ],
    env: ONE_SLOT,
  });
  await scene.occupy();
  const { id } = await scene.begin({ max_wait_s: 600 });
  scene.clock.skip(300_000);
  expect(await scene.show(id)).toMatchObject({ status: "queued", attempts: 0, reserved_usd: 0.3 });
  expect(await scene.balance()).toEqual({ available: INITIAL_CREDITS - 30, held: 30, charged: 0, inProgress: 1 });
  scene.clock.skip(300_000);
  const ended = await expectEnd(scene, id, { ends: "timed_out", attempts: [], received: ["fal"] });
  const waitedMs = Date.parse(ended.completed_at ?? "") - Date.parse(ended.created_at);
  expect(waitedMs).toBeGreaterThanOrEqual(600_000);
});

test("times out a queued generation without `max_wait_s` after default_max_wait_s", async () => {
  const scene = await openScene({
    routes: [{ ...FAL, timeoutS: 2400 }],
    env: { ...ONE_SLOT, GENROUTER_LIMITS__DEFAULT_MAX_WAIT_S: "300" },
  });
  await scene.occupy();
  const { id } = await scene.begin();
  scene.clock.skip(150_000);
  expect((await scene.show(id)).status).toBe("queued");
  scene.clock.skip(150_000);
  await expectEnd(scene, id, { ends: "timed_out", attempts: [], received: ["fal"] });
});

test("completes and charges an attempt that is running when max_wait_s passes", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 400_000 });
  const { id } = await scene.begin({ max_wait_s: 60 });
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(300_000);
  expect(await scene.show(id)).toMatchObject({ status: "running", attempts: 1, error: null });
  scene.clock.skip(100_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("charges a job that is found after max_wait_s passed while a lost response was being confirmed", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "drop-after" });
  scene.simulator.script({ fault: "late-ms", ms: 200_000 });
  const { id } = await scene.begin({ max_wait_s: 60 });
  await scene.until(id, ({ message }) => message !== undefined);
  scene.clock.skip(200_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("times out without a fallback when a route fails after max_wait_s", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 100_000 });
  scene.simulator.script({ fault: "forget", after_polls: 1 });
  const { id } = await scene.begin({ max_wait_s: 60 });
  await scene.untilAttempts(id, "accepted");
  await scene.hurry(async () => (await scene.show(id)).status === "failed");
  await expectEnd(scene, id, { ends: "timed_out", attempts: ["failed"], received: ["fal"] });
});

test("fails with provider_failed, not timed_out, when the last route fails after max_wait_s", async () => {
  const scene = await openScene({ routes: [FAL] });
  scene.simulator.script({ fault: "forget", after_polls: 1 });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin({ max_wait_s: 30 });
  await scene.hurry(async () => (await scene.show(id)).status === "failed");
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["failed"], received: ["fal"] });
});

test("times out without a charge when max_wait_s passes while the fallback waits for a place on a full route", async () => {
  const scene = await openScene({ routes: [FAL, { ...REPLICATE, maxRunning: 1, timeoutS: 2000 }] });
  await scene.occupy({ on: "replicate" });
  scene.simulator.script({ fault: "fail", endpoint: "life/fal" });
  const { id } = await scene.begin({ max_wait_s: 300 });
  await scene.untilAttempts(id, "failed");
  expect(await scene.show(id)).toMatchObject({ status: "running", attempts: 1 });
  scene.clock.skip(300_000);
  await expectEnd(scene, id, { ends: "timed_out", attempts: ["failed"], received: ["fal", "replicate", "fal"] });
});

test("excludes routes whose expected time is longer than max_wait_s from the plan and from the hold", async () => {
  const scene = await openScene({
    routes: [{ ...FAL, expectedS: 100 }, REPLICATE, { name: "slow", usd: "0.90", expectedS: 51 }],
  });
  const queued = await scene.begin({ max_wait_s: 50 });
  expect(queued).toMatchObject({ quoted_usd: 0.25, reserved_usd: 0.25 });
  await expectEnd(scene, queued.id, { ends: 25, attempts: ["delivered"], received: ["replicate"] });
});

test("rejects a submission with 422 and the shortest expected time, without a hold, when every route is slower than max_wait_s", async () => {
  const scene = await openScene({
    routes: [
      { ...FAL, expectedS: 100 },
      { ...REPLICATE, expectedS: 70 },
    ],
  });
  const refused = await scene.request("POST", "/v1/generations", { body: { model: MODEL, input: INPUT, max_wait_s: 69 } });
  expect(refused).toMatchObject({ status: 422, body: { error: { code: "invalid_input" } } });
  expect(refused.text).toContain("70 s");
  expect(await scene.balance()).toEqual({ available: INITIAL_CREDITS, held: 0, charged: 0, inProgress: 0 });
});

test("measures the time of a route from its first submission, including backoff and confirmation, without a restart", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "429", retry_after_s: 200, times: 1 });
  scene.simulator.script({ fault: "drop-after", endpoint: "life/fal" });
  scene.simulator.script({ fault: "late-ms", ms: 2_000_000, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.attempts(id))[0]?.failure !== null && (await scene.attempts(id)).length === 1);
  const first = (await scene.attempts(id))[0];
  expect((first?.endsAtMs ?? 0) - (first?.sentAtMs ?? 0)).toBe(600_000);
  scene.clock.skip(200_000);
  await scene.until(id, ({ message }) => message !== undefined);
  const again = (await scene.attempts(id))[0];
  expect(again?.endsAtMs).toBe(first?.endsAtMs ?? 0);
  // The lookup window counts from the sending that could have created a job.
  expect(again?.sentAtMs ?? 0).toBeGreaterThanOrEqual((first?.sentAtMs ?? 0) + 200_000);
  scene.clock.skip((first?.endsAtMs ?? 0) - scene.clock.nowMs());
  await expectEnd(scene, id, { ends: 25, attempts: ["lost", "delivered"], received: ["fal", "fal", "replicate"] });
});
