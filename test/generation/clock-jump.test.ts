// Tests of a clock that jumps while the service is down: only time during which a process ran counts for a lost submission.
import { expect, test } from "bun:test";
import { FAL, REPLICATE, SPARE } from "./catalogue.ts";
import { expectEnd } from "./fixture.ts";
import { openLasting } from "./lasting.ts";

/** How far Replicate's list may lag before a missing job counts as absent. */
const SETTLE_MS = 120_000;

test("proves a lost submission absent only after the settle time has passed since the restart, despite a clock jump", async () => {
  const routes = [{ ...REPLICATE, usd: "0.20", timeoutS: 2_000 }, SPARE];
  const lasting = await openLasting(routes, { death: { at: "after", event: "answerLost" } });
  lasting.first.simulator.script({ fault: "drop", provider: "replicate" });
  const { id } = await lasting.first.begin();
  await lasting.reached;
  await lasting.die();

  lasting.first.clock.skip(600_000);
  const bornMs = lasting.first.clock.nowMs();
  const scene = await lasting.reopen();
  const proof = await scene.hurry(async () => {
    const events = await scene.store.eventsOf(await scene.seqOf(id));
    return events.find(({ event }) => event.type === "provedAbsent");
  });
  expect(proof.atMs - bornMs).toBeGreaterThanOrEqual(SETTLE_MS);
  await expectEnd(scene, id, { ends: 30, attempts: ["absent", "delivered"], received: ["replicate", "spare"] });
});

test("finds the job of a lost submission after a clock jump and submits no second job", async () => {
  const lasting = await openLasting([{ ...FAL, timeoutS: 2_000 }, SPARE], { death: { at: "after", event: "answerLost" } });
  lasting.first.simulator.script({ fault: "drop-after", times: 1 });
  lasting.first.simulator.script({ fault: "list-5xx" });
  const { id } = await lasting.first.begin();
  await lasting.reached;
  await lasting.die();

  lasting.first.clock.skip(600_000);
  lasting.first.simulator.clearScript();
  const scene = await lasting.reopen();
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(scene.simulator.jobs()).toHaveLength(1);
});
