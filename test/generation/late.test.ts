// Tests of late results: accepted while the generation runs, and a loss of the operator after its end.
import { expect, test } from "bun:test";
import { FAL, REPLICATE, SPARE } from "./catalogue.ts";
import { testDisk } from "./disk.ts";
import { expectEnd, openScene, type Scene } from "./fixture.ts";

/** When the job of the first route ends, well after the route's time of 600 s; and more than the time between the two. */
const LATE_MS = 900_000;
const REST_MS = 320_000;

const stateOf = (scene: Scene, name: string) => scene.simulator.jobs().find(({ endpoint }) => endpoint === `life/${name}`)?.state;

/** The first route accepts, its response is lost, and its job ends after the route's time. */
const loseFirst = async (scene: Scene, more: { max_wait_s?: number } = {}) => {
  scene.simulator.script({ fault: "drop-after", endpoint: "life/fal" });
  scene.simulator.script({ fault: "late-ms", ms: LATE_MS, endpoint: "life/fal" });
  const { id } = await scene.begin(more);
  await scene.until(id, ({ message }) => message !== undefined);
  scene.clock.skip(600_000);
  return id;
};
/** The job of the first route continues after the route's time. */
const capFirst = async (scene: Scene) => {
  scene.simulator.script({ fault: "late-ms", ms: LATE_MS, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  return id;
};

for (const [what, begin, given] of [
  ["a lost attempt", loseFirst, "lost"],
  ["a capped attempt", capFirst, "capped"],
] as const)
  test(`charges ${what} that delivers while the next route runs at its own price, and cancels the other job`, async () => {
    const scene = await openScene();
    scene.simulator.script({ fault: "stuck", provider: "replicate" });
    const id = await begin(scene);
    await scene.untilAttempts(id, given, "accepted");
    const meanwhile = await scene.show(id);
    expect(meanwhile).toMatchObject({ status: "running", attempts: 2, cost_usd: null });
    expect(meanwhile.message).toBeUndefined();
    scene.clock.skip(REST_MS);
    await expectEnd(scene, id, { ends: 20, attempts: ["delivered", "superseded"], received: ["fal", "replicate"] });
    await scene.eventually(() => stateOf(scene, "replicate") === "cancelled", "the cancellation of the other job");
    // When the provider has confirmed the cancellation, the service stops polling the job.
    await scene.eventually(async () => (await scene.attempts(id))[1]?.watchUntilMs === null, "the end of the watch");
  });

test("marks a lost attempt that delivers after the end as late and leaves the resource unchanged", async () => {
  const scene = await openScene();
  const id = await loseFirst(scene);
  const ended = await expectEnd(scene, id, { ends: 25, attempts: ["lost", "delivered"], received: ["fal", "replicate"] });
  scene.clock.skip(REST_MS);
  await scene.untilAttempts(id, "late", "delivered");
  const after = await scene.show(id);
  expect({ ...after, output: { ...after.output, urls: [] } }).toEqual({
    ...ended,
    output: { ...ended.output, urls: [] },
  } as never);
  await expectEnd(scene, id, { ends: 25, attempts: ["late", "delivered"], received: ["fal", "replicate"] });
  expect(scene.lines.map(({ event }) => event)).toContain("late result received");
  expect(stateOf(scene, "fal")).toBe("done");
});

test("marks a result that arrives after the generation has failed as late and charges nothing", async () => {
  const scene = await openScene();
  const id = await loseFirst(scene, { max_wait_s: 300 });
  await expectEnd(scene, id, { ends: "timed_out", attempts: ["lost"], received: ["fal"] });
  scene.clock.skip(REST_MS);
  await scene.untilAttempts(id, "late");
  await expectEnd(scene, id, { ends: "timed_out", attempts: ["late"], received: ["fal"] });
});

test("counts a result that arrives after the deletion of its generation as a loss, and stores no address of it", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: LATE_MS, endpoint: "life/fal" });
  scene.simulator.script({ fault: "cancel-ignored" });
  const { id } = await scene.begin({ max_wait_s: 300 });
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  await expectEnd(scene, id, { ends: "timed_out", attempts: ["capped"], received: ["fal"] });
  const deleted = await scene.request("DELETE", `/v1/generations/${id}`);
  expect([deleted.status, deleted.body.deleted]).toEqual([200, true]);
  expect((await scene.attempts(id))[0]).toMatchObject({ state: "capped", request: "", watchUntilMs: expect.any(Number) });
  scene.clock.skip(REST_MS);
  await scene.untilAttempts(id, "late");
  expect((await scene.attempts(id))[0]).toMatchObject({ results: null, request: "" });
  expect(await scene.store.orphans(0)).toMatchObject([{ generationId: id, fate: "late" }]);
});

test("cancels the job of a capped attempt when another route has delivered", async () => {
  const scene = await openScene();
  const id = await capFirst(scene);
  await expectEnd(scene, id, { ends: 25, attempts: ["capped", "delivered"], received: ["fal", "replicate"] });
  await scene.eventually(() => stateOf(scene, "fal") === "cancelled", "the cancellation of the first job");
  await scene.eventually(async () => (await scene.attempts(id))[0]?.watchUntilMs === null, "the end of the watch");
});

test("delivers and charges a late result that is being downloaded while every other route fails", async () => {
  const disk = testDisk();
  const scene = await openScene({ routes: [FAL, { ...REPLICATE, timeoutS: 640 }], aroundFiles: disk.aroundFiles });
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  disk.hold();
  scene.clock.skip(REST_MS);
  await scene.eventually(() => disk.rejectedCount() > 0, "the download of the late result");
  scene.clock.skip(REST_MS);
  await scene.untilAttempts(id, "accepted", "capped");
  expect(await scene.show(id)).toMatchObject({ status: "running", attempts: 2, cost_usd: null });
  disk.accept();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered", "capped"], received: ["fal", "replicate"] });
});

test("does not charge a late result that fails the delivery check, and continues the running route", async () => {
  const scene = await openScene({ routes: [FAL, { ...REPLICATE, timeoutS: 2000 }], files: 2, allFiles: true });
  scene.simulator.script({ fault: "fewer", endpoint: "life/fal" });
  scene.simulator.script({ fault: "late-ms", ms: 900_000, provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  scene.clock.skip(REST_MS);
  await scene.untilAttempts(id, "mismatched", "accepted");
  const [late] = await scene.attempts(id);
  expect(late).toMatchObject({ watchUntilMs: null, failure: { class: "mismatched", detail: "files: 1 came, 2 files ordered" } });
  scene.clock.skip(580_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["mismatched", "delivered"], received: ["fal", "replicate"] });
});

test("fails a generation with a single route when its result fails the delivery check", async () => {
  const scene = await openScene({ routes: [FAL], files: 2, allFiles: true });
  scene.simulator.script({ fault: "fewer" });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["mismatched"], received: ["fal"] });
});

test("tries the next route when the late result that it waited for is unreadable", async () => {
  const disk = testDisk();
  const scene = await openScene({ routes: [FAL, { ...REPLICATE, timeoutS: 640 }, SPARE], aroundFiles: disk.aroundFiles });
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  scene.simulator.script({ fault: "unreadable", endpoint: "life/fal" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  disk.hold();
  scene.clock.skip(REST_MS);
  await scene.eventually(() => disk.rejectedCount() > 0, "the download of the late result");
  scene.clock.skip(REST_MS);
  await scene.untilAttempts(id, "accepted", "capped");
  disk.accept();
  await expectEnd(scene, id, {
    ends: 30,
    attempts: ["failed", "capped", "delivered"],
    received: ["fal", "replicate", "spare"],
  });
});

test("continues the running route when a late result is unreadable", async () => {
  const scene = await openScene({ routes: [FAL, { ...REPLICATE, timeoutS: 2000 }] });
  scene.simulator.script({ fault: "unreadable", endpoint: "life/fal" });
  scene.simulator.script({ fault: "late-ms", ms: 900_000, provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  scene.clock.skip(REST_MS);
  await scene.eventually(async () => (await scene.attempts(id))[0]?.failure?.class === "result_unreadable");
  scene.clock.skip(580_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["capped", "delivered"], received: ["fal", "replicate"] });
});

test("charges exactly one of two attempts that deliver at the same moment", async () => {
  const disk = testDisk();
  const scene = await openScene({ aroundFiles: disk.aroundFiles });
  scene.simulator.script({ fault: "late-ms", ms: REST_MS, provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  disk.hold();
  scene.clock.skip(REST_MS);
  const seq = await scene.seqOf(id);
  const announced = async () => (await scene.store.eventsOf(seq)).filter(({ event }) => event.type === "announced").length;
  await scene.eventually(async () => (await announced()) === 2, "both announcements");
  disk.accept();
  const ended = await scene.until(id);
  expect([0.2, 0.25]).toContain(Number(ended.cost_usd));
  const delivered = (await scene.attempts(id)).filter(({ state }) => state === "delivered");
  expect(delivered.map(({ priceCredits }) => priceCredits / 100)).toEqual([Number(ended.cost_usd)]);
  expect((await scene.store.transfersOf(seq)).map(({ kind }) => kind)).toEqual(["hold", "capture", "release"]);
});

for (const fault of ["slow-answer", "drop-after"] as const)
  test(`does not assign the job of a later generation to a lost attempt with the same input (${fault})`, async () => {
    const scene = await openScene({ routes: [{ ...REPLICATE, usd: "0.20", timeoutS: 120 }, SPARE], factor: 5 });
    scene.simulator.script({ fault: "drop", provider: "replicate", times: 1 });
    scene.simulator.script({ fault: "list-5xx", provider: "replicate" });
    const first = await scene.begin();
    await scene.until(first.id, ({ message }) => message !== undefined);
    scene.clock.skip(120_000);
    await scene.hurry(async () => (await scene.show(first.id)).status === "succeeded", 500);
    expect((await scene.attempts(first.id)).map(({ state }) => state)).toEqual(["lost", "delivered"]);
    scene.simulator.clearScript();
    scene.simulator.script({ fault, provider: "replicate", times: 1, ...(fault === "slow-answer" ? { ms: 400 } : {}) });
    scene.simulator.script({ fault: "late-ms", ms: 60_000, provider: "replicate" });
    const second = await scene.begin();
    // Long enough for the lost attempt to look for its job, and shorter than the time of the second attempt.
    for (let passedMs = 0; passedMs < 40_000; passedMs += 1_000) {
      scene.clock.skip(1_000);
      await scene.show(second.id);
    }
    await scene.untilAttempts(second.id, "accepted");
    await scene.hurry(async () => (await scene.show(second.id)).status === "succeeded", 1_000);
    expect((await scene.attempts(second.id)).map(({ route, state }) => [route.provider, state])).toEqual([
      ["replicate", "delivered"],
    ]);
    expect((await scene.attempts(first.id)).map(({ job }) => job === null)).toEqual([true, false]);
    expect(scene.simulator.jobs().map(({ state }) => state)).not.toContain("cancelled");
  });
