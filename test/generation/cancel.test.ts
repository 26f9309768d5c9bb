// Tests of cancellations around crashes, lost responses and late results.
import { expect, test } from "bun:test";
import { FAL, REPLICATE, SPARE } from "./catalogue.ts";
import { expectEnd, openScene, type Scene } from "./fixture.ts";
import { type Death, openLasting } from "./lasting.ts";

const ROUTES = [FAL, REPLICATE, SPARE];
const cancel = (scene: Scene, id: string) => scene.request("POST", `/v1/generations/${id}/cancel`);
const typesOf = async (scene: Scene, id: string) =>
  (await scene.store.eventsOf(await scene.seqOf(id))).map(({ event }) => event.type);

const DEATHS: { promise: string; death: Death; ends: string | number; attempts: string[] }[] = [
  {
    promise: "asks the provider again to cancel the job, and starts no other route",
    death: { at: "after", event: "cancelRequested" },
    ends: "cancelled",
    attempts: ["failed"],
  },
  {
    promise: "continues the generation, because its client received no response",
    death: { at: "before", event: "cancelRequested" },
    ends: 20,
    attempts: ["delivered"],
  },
];
for (const { promise, death, ends, attempts } of DEATHS)
  test(`after a crash ${death.at} cancelRequested: ${promise}`, async () => {
    const lasting = await openLasting(ROUTES, { death });
    lasting.first.simulator.script({ fault: "late-ms", ms: 300_000 });
    const { id } = await lasting.first.begin();
    await lasting.first.untilAttempts(id, "accepted");
    // It has no response, because the process dies.
    void cancel(lasting.first, id).catch(() => undefined);
    await lasting.reached;
    await lasting.die();
    const again = await lasting.reopen();
    await again.hurry(async () => (await again.show(id)).completed_at !== null, 10_000);
    await expectEnd(again, id, { ends, attempts, received: ["fal"] });
  });

test("a cancelled submission whose response was lost is looked up, and its job is cancelled", async () => {
  const scene = await openScene({ routes: [{ ...REPLICATE, usd: "0.20" }, SPARE] });
  scene.simulator.script({ fault: "drop-after", times: 1 });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await typesOf(scene, id)).includes("answerLost"), "a lost response");
  expect((await cancel(scene, id)).body).toMatchObject({ status: "running", cancel_requested_at: expect.any(String) });
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  await expectEnd(scene, id, { ends: "cancelled", attempts: ["failed"], received: ["replicate"] });
});

test("a submission that its provider rejects for its rate is not sent again after a cancellation", async () => {
  const scene = await openScene({ routes: ROUTES, factor: 0 });
  scene.simulator.script({ fault: "429", retry_after_s: 60 });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.states(id)).at(-1) === "running.backingOff", "the pause after a rejection");
  expect((await cancel(scene, id)).body).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  scene.clock.skip(120_000);
  await expectEnd(scene, id, { ends: "cancelled", attempts: ["rejected"], received: ["fal"] });
});

test("an earlier attempt that delivers after the cancel request is charged at its own quote", async () => {
  const scene = await openScene({ routes: ROUTES });
  scene.simulator.script({ fault: "cancel-ignored" });
  scene.simulator.script({ fault: "late-ms", ms: 660_000, endpoint: "life/fal" });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.hurry(async () => (await scene.attempts(id)).map(({ state }) => state).join() === "capped,accepted", 10_000);
  expect((await cancel(scene, id)).body).toMatchObject({ status: "running" });
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null, 10_000);
  expect(await scene.show(id)).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 2 });
});

test("an operator can still settle or fail a generation whose cancellation is pending", async () => {
  const scene = await openScene({ routes: ROUTES });
  scene.simulator.script({ fault: "cancel-ignored" });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  await cancel(scene, id);
  const admin = await scene.admin();
  const decided = await admin.decideGeneration({ id, decision: "fail", attempt: null, reason: "the client gave up" });
  expect(decided).toMatchObject({ status: "failed", isTaken: true });
  expect((await scene.show(id)).error?.code).toBe("provider_failed");
  const answer = await cancel(scene, id);
  expect(answer.status).toBe(409);
});
