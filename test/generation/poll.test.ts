// Tests of poll responses that are missing, wrong or repeated: only a conclusive response changes the attempt.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import type { Store } from "../../src/store/store.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { expectEnd, openScene } from "./fixture.ts";

const DELIVERED = { ends: 20, attempts: ["delivered"], received: ["fal"] };
const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };
/** Poll faults that must not affect a job that delivers. */
const UNDISTURBED: [promise: string, rule: Rule][] = [
  ["an unknown status", { fault: "unknown-status", polls: 4 }],
  ["server errors", { fault: "poll-5xx", polls: 4 }],
  ["429 responses", { fault: "poll-429", polls: 2 }],
  ["broken connections", { fault: "poll-drop", polls: 4 }],
  ["pages that are not JSON", { fault: "poll-rubbish", polls: 4 }],
  ["a response that never arrives", { fault: "poll-hang", polls: 1 }],
  ["success before the result exists", { fault: "early-done", polls: 3 }],
  ["success, then running again", { fault: "out-of-order", polls: 3 }],
];
for (const [what, rule] of UNDISTURBED)
  for (const route of [FAL, CHEAP_REPLICATE])
    test(`polls ${route.name} again after ${what}, delivers its job and submits no other`, async () => {
      const scene = await openScene({ routes: [route, SPARE], callTimes: { pollMs: 150 } });
      scene.simulator.script(rule);
      scene.simulator.script({ fault: "late-ms", ms: 20_000 });
      const { id } = await scene.begin();
      await expectEnd(scene, id, { ...DELIVERED, received: [route.name] });
      expect(scene.simulator.jobs()).toHaveLength(1);
    });

test("requests the result again while its URL returns server errors", async () => {
  const scene = await openScene({ routes: [FAL, SPARE] });
  scene.simulator.script({ fault: "result-5xx", polls: 3 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, DELIVERED);
});

test("does not read an oversized poll response, and falls back at the end of the route's time", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "poll-huge", mb: 2, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 2);
  scene.clock.skip(600_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["capped", "delivered"], received: ["fal", "replicate"] });
});

test("treats a job as gone after the provider reports it as unknown for at least one minute", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  const { id } = await scene.begin();
  // The last moment that was seen before the first such response.
  let begun = scene.clock.nowMs();
  await scene.eventually(() => {
    const isPolled = (scene.simulator.jobs()[0]?.polls ?? 0) > 0;
    if (!isPolled) begun = scene.clock.nowMs();
    return isPolled;
  });
  // More than three such responses within the minute: the job may reappear.
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 6);
  if (scene.clock.nowMs() - begun < 55_000) expect(scene.received()).toEqual(["fal"]);
  await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  const [first, second] = await scene.attempts(id);
  expect(first?.failure?.class).toBe("gone");
  expect((second?.sentAtMs ?? 0) - begun).toBeGreaterThanOrEqual(60_000);
});

test("continues a job that the provider reports as unknown for a while and then knows again", async () => {
  const scene = await openScene({ routes: [FAL, SPARE], factor: 50 });
  const rule = scene.simulator.script({ fault: "forget", after_polls: 1 });
  scene.simulator.script({ fault: "late-ms", ms: 40_000 });
  const { id } = await scene.begin();
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 4);
  // The provider knows the job again: the fault of this job is removed.
  const job = scene.simulator.jobs()[0];
  expect(rule.fault).toBe("forget");
  if (job) job.faults.poll = { name: "poll-5xx", polls: 0 };
  await expectEnd(scene, id, DELIVERED);
});

test("commits nothing for polls of the API or polls of the provider", async () => {
  let commits = 0;
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => {
      commits += 1;
      return store.commit(mutations);
    },
  });
  const scene = await openScene({ routes: [FAL], around });
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  const before = commits;
  const first = await scene.show(id);
  for (let turn = 0; turn < 20; turn += 1) expect(await scene.show(id)).toEqual(first);
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 10);
  expect(commits).toBe(before);
});
