// Tests of state that a restart must preserve: deadlines, the order of the run queue and watched attempts.
import { expect, test } from "bun:test";
import { FAL, REPLICATE } from "./catalogue.ts";
import { expectEnd } from "./fixture.ts";
import { openLasting } from "./lasting.ts";

test("keeps the absolute cap of an attempt over a restart", async () => {
  const lasting = await openLasting([{ ...FAL, timeoutS: 2400 }, REPLICATE]);
  const { clock } = lasting.first;
  lasting.first.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  const { id } = await lasting.first.begin();
  const [accepted] = await lasting.first.untilAttempts(id, "accepted");
  const endsAtMs = accepted?.endsAtMs ?? 0;
  expect(endsAtMs - (accepted?.sentAtMs ?? 0)).toBe(2_400_000);
  clock.skip(1_800_000);
  await lasting.die();
  clock.skip(300_000);
  const again = await lasting.reopen();
  expect((await again.attempts(id))[0]?.endsAtMs).toBe(endsAtMs);
  clock.skip(endsAtMs - clock.nowMs() - 200_000);
  expect(await again.show(id)).toMatchObject({ status: "running", attempts: 1 });
  clock.skip(200_000);
  await expectEnd(again, id, { ends: 25, attempts: ["capped", "delivered"], received: ["fal", "replicate"] });
  expect((await again.attempts(id))[0]?.endedAtMs).toBeGreaterThanOrEqual(endsAtMs);
});

test("applies a cap that passed during the downtime immediately after the restart", async () => {
  const lasting = await openLasting([FAL, REPLICATE]);
  lasting.first.simulator.script({ fault: "stuck", endpoint: "life/fal" });
  const { id } = await lasting.first.begin();
  await lasting.first.untilAttempts(id, "accepted");
  await lasting.die();
  lasting.first.clock.skip(86_000_000);
  const again = await lasting.reopen();
  await expectEnd(again, id, { ends: 25, attempts: ["capped", "delivered"], received: ["fal", "replicate"] });
});

test.each([
  ["during the downtime", 1_000_000],
  ["right after the restart", -1_000],
])("polls a job that ended during the downtime once more and charges it when its cap passed %s", async (_, afterCapMs) => {
  // The last poll must happen within half a minute of this clock, also on a busy machine.
  const lasting = await openLasting([FAL, REPLICATE], { factor: 10 });
  lasting.first.simulator.script({ fault: "late-ms", ms: 100_000 });
  const { id } = await lasting.first.begin();
  await lasting.first.untilAttempts(id, "accepted");
  const capMs = (await lasting.first.attempts(id))[0]?.endsAtMs ?? 0;
  await lasting.die();
  lasting.first.clock.skip(capMs + afterCapMs - lasting.first.clock.nowMs());
  const again = await lasting.reopen();
  await expectEnd(again, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("times out a queued generation and continues a running one when max_wait_s passed during the downtime", async () => {
  const lasting = await openLasting([{ ...FAL, timeoutS: 2400 }], { env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  lasting.first.simulator.script({ fault: "late-ms", ms: 200_000, times: 1 });
  const running = await lasting.first.begin({ max_wait_s: 60 });
  await lasting.first.untilAttempts(running.id, "accepted");
  const waiting = await lasting.first.begin({ max_wait_s: 60 });
  await lasting.die();
  lasting.first.clock.skip(100_000);
  const again = await lasting.reopen();
  const ended = await again.until(waiting.id);
  expect(ended).toMatchObject({ status: "failed", attempts: 0, cost_usd: 0, error: { code: "timed_out" } });
  expect(await again.show(running.id)).toMatchObject({ status: "running", attempts: 1 });
  again.clock.skip(100_000);
  await expectEnd(again, running.id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("keeps the order of the run queue over a restart, behind the generations that were running", async () => {
  const lasting = await openLasting([{ ...FAL, maxRunning: 1 }]);
  const { first } = lasting;
  first.simulator.script({ fault: "late-ms", ms: 60_000 });
  const ids: string[] = [];
  for (let each = 0; each < 4; each += 1) ids.push((await first.begin()).id);
  await first.untilAttempts(ids[0] ?? "", "accepted");
  await lasting.die();
  const again = await lasting.reopen();
  expect((await again.show(ids[1] ?? "")).status).toBe("queued");
  await again.hurry(async () => (await again.show(ids[3] ?? "")).status === "succeeded");
  const refs = again.simulator.submissions().map(({ ref }) => ref);
  expect(refs).toEqual(ids.map((id) => `${id.slice("gen_".length)}-1`));
  expect(await again.balance()).toMatchObject({ held: 0, charged: 80 });
});

test("keeps a generation that waits for a full fallback route running over a restart, and then starts it", async () => {
  const lasting = await openLasting([FAL, { ...REPLICATE, maxRunning: 1 }]);
  const { first } = lasting;
  await first.occupy({ on: "replicate", ms: 100_000 });
  first.simulator.script({ fault: "fail", endpoint: "life/fal" });
  const { id } = await first.begin();
  await first.untilAttempts(id, "failed");
  await lasting.die();
  const again = await lasting.reopen();
  expect(await again.show(id)).toMatchObject({ status: "running", attempts: 1 });
  again.clock.skip(100_000);
  await expectEnd(again, id, {
    ends: 25,
    attempts: ["failed", "delivered"],
    received: ["fal", "replicate", "fal", "replicate"],
  });
});

test("still watches a capped attempt after a restart and accepts its result while the next route runs", async () => {
  const lasting = await openLasting([FAL, REPLICATE]);
  const { first } = lasting;
  first.simulator.script({ fault: "late-ms", ms: 700_000, endpoint: "life/fal" });
  first.simulator.script({ fault: "stuck", provider: "replicate" });
  const { id } = await first.begin();
  await first.untilAttempts(id, "accepted");
  first.clock.skip(600_000);
  await first.untilAttempts(id, "capped", "accepted");
  await lasting.die();
  first.clock.skip(150_000);
  const again = await lasting.reopen();
  await expectEnd(again, id, { ends: 20, attempts: ["delivered", "superseded"], received: ["fal", "replicate"] });
});

test("still watches the lost attempt of an ended generation after a restart and marks it late", async () => {
  const lasting = await openLasting([FAL, REPLICATE]);
  const { first } = lasting;
  first.simulator.script({ fault: "drop-after", endpoint: "life/fal" });
  first.simulator.script({ fault: "late-ms", ms: 700_000, endpoint: "life/fal" });
  const { id } = await first.begin();
  await first.until(id, ({ message }) => message !== undefined);
  first.clock.skip(600_000);
  await first.until(id);
  await lasting.die();
  first.clock.skip(150_000);
  const again = await lasting.reopen();
  await again.untilAttempts(id, "late", "delivered");
  await expectEnd(again, id, { ends: 25, attempts: ["late", "delivered"], received: ["fal", "replicate"] });
});

test("collects a result after a restart that result storage had refused before it", async () => {
  const lasting = await openLasting([FAL, REPLICATE], { death: { at: "after", event: "storageRefused" }, diskRefuses: true });
  const { id } = await lasting.first.begin();
  await lasting.reached;
  await lasting.die();
  lasting.first.clock.skip(300_000);
  const again = await lasting.reopen();
  await expectEnd(again, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});
