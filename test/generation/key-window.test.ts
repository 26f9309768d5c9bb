// Tests of a lost submission to a provider with idempotency keys: it is resent only while the provider keeps the key.

import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { testClock } from "../clock.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";
import { dropScratch } from "../scratch.ts";

setDefaultTimeout(60_000);

const CATALOGUE = builtInCatalogue();
const MODEL = CATALOGUE.models.find(({ id }) => id === "pixverse-v6");
const HOUR_MS = 3_600_000;

/** Crashes the process before it reads the response of an accepted submission, and restarts it after `downMs`. */
const restartedAfter = async (downMs: number) => {
  const clock = testClock(100);
  const simulator = await createSimulator({ clock });
  const dir = mkdtempSync(join(tmpdir(), "key-window-"));
  const shared = { clock, simulator, dir, catalogue: CATALOGUE, providers: ["pixverse"] };
  const first = await openHarness(shared);
  simulator.script({ fault: "hang-after", times: 1 });
  if (!MODEL) throw new Error("no such model");
  const { id } = await first.submit(MODEL.id, leastInput(MODEL, `${simulator.url}/samples`));
  await first.eventually(() => simulator.submissions().length === 1, "the submission");
  await first.crash();
  clock.skip(downMs);
  const again = await openHarness(shared);
  onTestFinished(async () => {
    await again.close();
    await simulator.stop();
    clock.stop();
    dropScratch(dir);
  });
  const ended = await again.eventually(async () => {
    const shown = await again.show(id, first.tenant.key);
    return (shown.status === "succeeded" || shown.status === "failed") && shown;
  }, "its end");
  return { ended, simulator };
};

test("resends the submission and finds the one job while the provider still keeps the idempotency key", async () => {
  const { ended, simulator } = await restartedAfter(60_000);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(simulator.jobs()).toHaveLength(1);
});

test("does not resend the submission after 24 hours, when the provider has forgotten the idempotency key", async () => {
  const { ended, simulator } = await restartedAfter(24 * HOUR_MS);
  expect(ended).toMatchObject({ status: "failed", cost_usd: 0 });
  expect(simulator.submissions()).toHaveLength(1);
});
