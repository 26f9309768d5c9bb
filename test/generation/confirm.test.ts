// Tests of submissions whose response was lost: the resource meanwhile, the job lookup and what follows.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import type { HarnessOptions } from "../harness.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, INITIAL_CREDITS, openScene, type Scene } from "./fixture.ts";

const CONFIRMING = "Confirming the result with the provider.";
/** The submission times out after 150 real milliseconds instead of half a minute. */
const HASTY: HarnessOptions = { callTimes: { submitMs: 150 } };

/** Waits until the generation is being confirmed, and verifies its resource meanwhile. */
const confirming = async (scene: Scene, id: string) => {
  const shown = await scene.until(id, ({ message }) => message !== undefined);
  expect(shown).toMatchObject({
    status: "running",
    message: CONFIRMING,
    output: null,
    cost_usd: null,
    error: null,
    completed_at: null,
  });
  expect((await scene.balance()).held).toBeGreaterThan(0);
  return shown;
};

/** Faults of a submission that the provider nevertheless accepts. */
const ACCEPTED: Rule["fault"][] = ["drop-after", "5xx-after", "rubbish", "no-id", "cut"];

for (const fault of ACCEPTED)
  for (const [by, route] of [
    ["its mark", FAL],
    ["its input", { ...FAL, unmarked: true }],
    ["its input in the other provider's list", REPLICATE],
  ] as [string, TestRoute][])
    test(`finds the job by ${by} after the fault ${fault} and submits no second job`, async () => {
      const scene = await openScene({ routes: [{ ...route, usd: "0.20" }, SPARE] });
      scene.simulator.script({ fault, times: 1 });
      // The list fails until the test has seen the generation being confirmed.
      scene.simulator.script({ fault: "list-5xx" });
      const { id } = await scene.begin();
      await confirming(scene, id);
      scene.simulator.clearScript();
      await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: [route.name] });
      expect(scene.simulator.jobs()).toHaveLength(1);
      const journal = (await scene.store.eventsOf(await scene.seqOf(id))).map(({ event }) => event.type);
      expect(journal).toEqual(["begun", "slotTaken", "answerLost", "accepted", "announced", "collected"]);
    });

test("times out a submission whose response never arrives, and finds its job", async () => {
  const scene = await openScene(HASTY);
  scene.simulator.script({ fault: "hang-after", times: 1 });
  scene.simulator.script({ fault: "list-5xx" });
  const { id } = await scene.begin();
  await confirming(scene, id);
  scene.simulator.clearScript();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

type Row = { promise: string; routes: TestRoute[]; rule: Rule; harness?: HarnessOptions; skipMs: number; end: End };
const CHEAP_REPLICATE = { ...REPLICATE, usd: "0.20" };
const ROWS: Row[] = [
  ...(["drop", "5xx", "hang"] as const).map(
    (fault): Row => ({
      promise: `marks an attempt absent after the fault ${fault} and the settle time of an immediate list, and the next route delivers`,
      routes: [CHEAP_REPLICATE, SPARE],
      rule: { fault, provider: "replicate" },
      harness: HASTY,
      skipMs: 120_000,
      end: { ends: 30, attempts: ["absent", "delivered"], received: ["replicate", "spare"] },
    }),
  ),
  {
    promise: "marks an attempt lost at its cap when the provider's list shows finished jobs only, and the next route delivers",
    routes: [FAL, SPARE],
    rule: { fault: "drop", endpoint: "life/fal" },
    skipMs: 600_000,
    end: { ends: 30, attempts: ["lost", "delivered"], received: ["fal", "spare"] },
  },
  {
    promise: "marks an attempt lost at its cap when the provider's list is unreadable, and the next route delivers",
    routes: [{ ...CHEAP_REPLICATE, timeoutS: 200 }, SPARE],
    rule: { fault: "list-5xx" },
    skipMs: 200_000,
    end: { ends: 30, attempts: ["lost", "delivered"], received: ["replicate", "spare"] },
  },
  {
    promise: "fails the generation and releases the whole hold when the attempt is lost and no route remains",
    routes: [FAL],
    rule: { fault: "drop" },
    skipMs: 600_000,
    end: { ends: "provider_failed", attempts: ["lost"], received: ["fal"] },
  },
  {
    promise: "fails the generation without trying another route when an attempt is lost and the route has `on_lost: fail`",
    routes: [{ ...FAL, onLost: "fail" }, SPARE],
    rule: { fault: "drop", endpoint: "life/fal" },
    skipMs: 600_000,
    end: { ends: "provider_failed", attempts: ["lost"], received: ["fal"] },
  },
  {
    promise: "waits until the cap and then fails the generation when an attempt is lost and the route has `on_lost: hold`",
    routes: [{ ...FAL, onLost: "hold" }, SPARE],
    rule: { fault: "drop", endpoint: "life/fal" },
    skipMs: 600_000,
    end: { ends: "provider_failed", attempts: ["lost"], received: ["fal"] },
  },
];

for (const { promise, routes, rule, harness, skipMs, end } of ROWS)
  test(promise, async () => {
    const scene = await openScene({ routes, ...harness });
    // A fault of the list alone does not lose the submission.
    if (rule.fault === "list-5xx") scene.simulator.script({ fault: "drop", provider: "replicate" });
    scene.simulator.script(rule);
    const { id } = await scene.begin();
    await confirming(scene, id);
    // After a minute of lookups the outcome is still unknown, and the submission is not sent again.
    const beganAtMs = scene.clock.nowMs();
    await scene.hurry(() => scene.clock.nowMs() - beganAtMs > 60_000, 500);
    await confirming(scene, id);
    expect(scene.received()).toHaveLength(1);
    scene.clock.skip(skipMs - 60_000);
    await expectEnd(scene, id, end);
  });

test("continues with a job that is found before the cap when the route has `on_lost: hold`", async () => {
  const scene = await openScene({ routes: [{ ...FAL, onLost: "hold" }, SPARE] });
  scene.simulator.script({ fault: "drop-after", times: 1 });
  scene.simulator.script({ fault: "late-ms", ms: 300_000 });
  const { id } = await scene.begin();
  await confirming(scene, id);
  scene.clock.skip(300_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("does not swap the jobs of two generations with the same input when a response is lost, and charges each once", async () => {
  const scene = await openScene({ routes: [REPLICATE, SPARE] });
  scene.simulator.script({ fault: "drop-after", times: 1 });
  scene.simulator.script({ fault: "list-5xx" });
  const first = await scene.begin();
  await confirming(scene, first.id);
  const second = await scene.begin();
  await scene.until(second.id);
  scene.simulator.clearScript();
  // The second generation owns its job, so the job of the first is the only candidate.
  expect((await scene.until(first.id)).status).toBe("succeeded");
  const jobs = [...(await scene.attempts(first.id)), ...(await scene.attempts(second.id))].map(({ job }) => job?.jobId);
  expect(new Set(jobs).size).toBe(2);
  expect(
    scene.simulator
      .jobs()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(jobs.map(String).sort());
  expect(await scene.balance()).toEqual({ available: INITIAL_CREDITS - 50, held: 0, charged: 50, inProgress: 0 });
});

test("waits for a slow response and does not treat it as lost", async () => {
  const scene = await openScene({ routes: [FAL, SPARE] });
  scene.simulator.script({ fault: "slow-answer", ms: 60, times: 1 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect((await scene.store.eventsOf(await scene.seqOf(id))).map(({ event }) => event.type)).not.toContain("answerLost");
});

test("finds the job of a resent submission, because the lookup window counts from the last sending", async () => {
  const scene = await openScene({ routes: [{ ...REPLICATE, usd: "0.20", timeoutS: 2_400 }, SPARE] });
  scene.simulator.script({ fault: "429", retry_after_s: 700, times: 1, provider: "replicate" });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.states(id)).includes("running.backingOff"), "the refusal");
  scene.simulator.script({ fault: "drop-after", times: 1, provider: "replicate" });
  scene.clock.skip(701_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["replicate", "replicate"] });
  expect(scene.simulator.jobs()).toHaveLength(1);
});
