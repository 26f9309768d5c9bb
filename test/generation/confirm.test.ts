// Submissions whose answer was lost: what the customer reads meanwhile, how the job is found or proved absent, what follows.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import type { HarnessOptions } from "../harness.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, INITIAL_CREDITS, openScene, type Scene } from "./fixture.ts";

const CONFIRMING = "Confirming the result with the provider.";
/** A hanging provider is given up after some real milliseconds instead of half a minute. */
const HASTY: HarnessOptions = { callTimes: { submitMs: 150 } };

/** Waits until the generation is being confirmed, and holds what the API shows meanwhile against the promise. */
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

/** Faults of a submission by what they leave behind. */
const ACCEPTED: Rule["fault"][] = ["drop-after", "5xx-after", "rubbish", "no-id", "cut"];

for (const fault of ACCEPTED)
  for (const [by, route] of [
    ["its mark", FAL],
    ["its input", { ...FAL, unmarked: true }],
    ["its input, by the other provider's list", REPLICATE],
  ] as [string, TestRoute][])
    test(`${fault}: the job is found again by ${by}, and it is the only one`, async () => {
      const scene = await openScene({ routes: [{ ...route, usd: "0.20" }, SPARE] });
      scene.simulator.script({ fault, times: 1 });
      // Until the caller has seen it being confirmed, the list says nothing.
      scene.simulator.script({ fault: "list-5xx" });
      const { id } = await scene.begin();
      await confirming(scene, id);
      scene.simulator.clearScript();
      await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: [route.name] });
      expect(scene.simulator.jobs()).toHaveLength(1);
      const journal = (await scene.store.journalOf(await scene.seqOf(id))).map(({ event }) => event.type);
      expect(journal).toEqual(["begun", "slotTaken", "answerLost", "accepted", "announced", "collected"]);
    });

test("an answer that never comes is given up at its deadline, and the job it was about is found", async () => {
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
      promise: `${fault}: a list that shows jobs at once proves after its time that there is none, and the next route delivers`,
      routes: [CHEAP_REPLICATE, SPARE],
      rule: { fault, provider: "replicate" },
      harness: HASTY,
      skipMs: 120_000,
      end: { ends: 30, attempts: ["absent", "delivered"], received: ["replicate", "spare"] },
    }),
  ),
  {
    promise: "a list that shows finished jobs only proves nothing within the route's time: lost, and the next route delivers",
    routes: [FAL, SPARE],
    rule: { fault: "drop", endpoint: "life/fal" },
    skipMs: 600_000,
    end: { ends: 30, attempts: ["lost", "delivered"], received: ["fal", "spare"] },
  },
  {
    promise: "a list that cannot be read proves nothing: lost at the end of the route's time, and the next route delivers",
    routes: [{ ...CHEAP_REPLICATE, timeoutS: 200 }, SPARE],
    rule: { fault: "list-5xx" },
    skipMs: 200_000,
    end: { ends: 30, attempts: ["lost", "delivered"], received: ["replicate", "spare"] },
  },
  {
    promise: "every means exhausted and no route left: failed, and the whole hold goes back",
    routes: [FAL],
    rule: { fault: "drop" },
    skipMs: 600_000,
    end: { ends: "provider_failed", attempts: ["lost"], received: ["fal"] },
  },
  {
    promise: "`on_lost: fail`: what was never learnt ends the generation, and no other route is tried",
    routes: [{ ...FAL, onLost: "fail" }, SPARE],
    rule: { fault: "drop", endpoint: "life/fal" },
    skipMs: 600_000,
    end: { ends: "provider_failed", attempts: ["lost"], received: ["fal"] },
  },
  {
    promise: "`on_lost: hold`: what was never learnt is waited for until the route's time is over, then the generation fails",
    routes: [{ ...FAL, onLost: "hold" }, SPARE],
    rule: { fault: "drop", endpoint: "life/fal" },
    skipMs: 600_000,
    end: { ends: "provider_failed", attempts: ["lost"], received: ["fal"] },
  },
];

for (const { promise, routes, rule, harness, skipMs, end } of ROWS)
  test(promise, async () => {
    const scene = await openScene({ routes, ...harness });
    // Where only the list is spoiled, the submission has to be lost too.
    if (rule.fault === "list-5xx") scene.simulator.script({ fault: "drop", provider: "replicate" });
    scene.simulator.script(rule);
    const { id } = await scene.begin();
    await confirming(scene, id);
    // A minute of look-ups proves nothing; it is not sent again.
    const beganAtMs = scene.clock.nowMs();
    await scene.hurry(() => scene.clock.nowMs() - beganAtMs > 60_000, 500);
    await confirming(scene, id);
    expect(scene.received()).toHaveLength(1);
    scene.clock.skip(skipMs - 60_000);
    await expectEnd(scene, id, end);
  });

test("`on_lost: hold`: a job that is found before the cap is continued", async () => {
  const scene = await openScene({ routes: [{ ...FAL, onLost: "hold" }, SPARE] });
  scene.simulator.script({ fault: "drop-after", times: 1 });
  scene.simulator.script({ fault: "late-ms", ms: 300_000 });
  const { id } = await scene.begin();
  await confirming(scene, id);
  scene.clock.skip(300_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("two generations with the same input, both answers lost: neither takes the other's job, and each job is charged once", async () => {
  const scene = await openScene({ routes: [REPLICATE, SPARE] });
  scene.simulator.script({ fault: "drop-after", times: 1 });
  scene.simulator.script({ fault: "list-5xx" });
  const first = await scene.begin();
  await confirming(scene, first.id);
  const second = await scene.begin();
  await scene.until(second.id);
  scene.simulator.clearScript();
  // The second one's job is owned, so the first one's is the only candidate left.
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

test("a slow answer is waited for and is no lost one", async () => {
  const scene = await openScene({ routes: [FAL, SPARE] });
  scene.simulator.script({ fault: "slow-answer", ms: 60, times: 1 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect((await scene.store.journalOf(await scene.seqOf(id))).map(({ event }) => event.type)).not.toContain("answerLost");
});

test("a job that the second sending made is found, however long after the first: what counts is the last", async () => {
  const scene = await openScene({ routes: [{ ...REPLICATE, usd: "0.20", timeoutS: 2_400 }, SPARE] });
  scene.simulator.script({ fault: "429", retry_after_s: 700, times: 1, provider: "replicate" });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.states(id)).includes("running.backingOff"), "the refusal");
  scene.simulator.script({ fault: "drop-after", times: 1, provider: "replicate" });
  scene.clock.skip(701_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["replicate", "replicate"] });
  expect(scene.simulator.jobs()).toHaveLength(1);
});
