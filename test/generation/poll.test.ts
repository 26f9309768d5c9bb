// Polls that say nothing, the wrong thing or the same thing twice: only what proves something changes anything.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import type { Store } from "../../src/store/store.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { expectEnd, openScene } from "./fixture.ts";

const DELIVERED = { ends: 20, attempts: ["delivered"], received: ["fal"] };
const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };
/** What must not disturb a job that delivers. */
const UNDISTURBED: [promise: string, rule: Rule][] = [
  ["a status that nobody has heard of", { fault: "unknown-status", polls: 4 }],
  ["server errors", { fault: "poll-5xx", polls: 4 }],
  ["too many polls", { fault: "poll-429", polls: 2 }],
  ["broken connections", { fault: "poll-drop", polls: 4 }],
  ["pages that are not JSON", { fault: "poll-rubbish", polls: 4 }],
  ["an answer that never comes", { fault: "poll-hang", polls: 1 }],
  ["done, before the result is there", { fault: "early-done", polls: 3 }],
  ["done, then running again", { fault: "out-of-order", polls: 3 }],
];
for (const [what, rule] of UNDISTURBED)
  for (const route of [FAL, CHEAP_REPLICATE])
    test(`${what}: ${route.name} is asked again, its job delivers, and it is the only one`, async () => {
      const scene = await openScene({ routes: [route, SPARE], callTimes: { pollMs: 150 } });
      scene.simulator.script(rule);
      scene.simulator.script({ fault: "late-ms", ms: 20_000 });
      const { id } = await scene.begin();
      await expectEnd(scene, id, { ...DELIVERED, received: [route.name] });
      expect(scene.simulator.jobs()).toHaveLength(1);
    });

test("done, but the result's own address answers a server error for a while: it is asked again", async () => {
  const scene = await openScene({ routes: [FAL, SPARE] });
  scene.simulator.script({ fault: "result-5xx", polls: 3 });
  const { id } = await scene.begin();
  await expectEnd(scene, id, DELIVERED);
});

test("an answer larger than any answer about a job is not read, and the route's time ends it", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "poll-huge", mb: 2, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 2);
  scene.clock.skip(600_000);
  await expectEnd(scene, id, { ends: 25, attempts: ["capped", "delivered"], received: ["fal", "replicate"] });
});

test("a job that the provider has forgotten is believed gone after three answers over a minute, not before", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "forget", endpoint: "life/fal" });
  scene.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  const { id } = await scene.begin();
  const begun = await scene.eventually(() => scene.simulator.jobs()[0]?.polls === 2 && scene.clock.nowMs());
  // Many more than three answers within the minute: it may come back.
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 6);
  if (scene.clock.nowMs() - begun < 55_000) expect(scene.received()).toEqual(["fal"]);
  await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  const [first, second] = await scene.attempts(id);
  expect(first?.failure?.class).toBe("gone");
  expect((second?.sentAtMs ?? 0) - begun).toBeGreaterThanOrEqual(60_000);
});

test("a job that is unknown for a while and then known again goes on", async () => {
  const scene = await openScene({ routes: [FAL, SPARE], factor: 50 });
  const rule = scene.simulator.script({ fault: "forget", after_polls: 1 });
  scene.simulator.script({ fault: "late-ms", ms: 40_000 });
  const { id } = await scene.begin();
  await scene.eventually(() => (scene.simulator.jobs()[0]?.polls ?? 0) >= 4);
  // The provider remembers: the fault is taken off the job it was chosen for.
  const job = scene.simulator.jobs()[0];
  expect(rule.fault).toBe("forget");
  if (job) job.faults.poll = { name: "poll-5xx", polls: 0 };
  await expectEnd(scene, id, DELIVERED);
});

test("waiting writes nothing: neither polls of the API nor polls of the provider make a commit", async () => {
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
