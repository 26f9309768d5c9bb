// Cost breakdown of the replay page, compared with the stored attempts and the ledger.
import { expect, test } from "bun:test";
import { type CostBreakdown, costBreakdownOf } from "../../actors/replay/cost-breakdown.ts";
import { replay } from "../../actors/replay/replay.ts";
import { type Asker, replayOf } from "../../src/inspector/replay-api.ts";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { eventful } from "../generation/eventful.ts";
import { openScene, type Scene } from "../generation/fixture.ts";

const costsFor = async (
  { store }: Pick<Scene, "store">,
  id: string,
  asker: Asker = { onlooker: "words" },
): Promise<CostBreakdown> => {
  const { given } = await replayOf({ store, collectMs: 600_000 }, id, asker);
  return costBreakdownOf(replay(given).steps, given.transfers);
};
/** Runs a generation from its submission to its end, with scripted provider faults. */
const live = async (rules: Rule[], routes = [FAL, REPLICATE, SPARE]) => {
  const scene = await openScene({ routes });
  for (const rule of rules) scene.simulator.script(rule);
  const { id } = await scene.begin();
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  return { scene, id };
};
const inShort = ({ attempts }: CostBreakdown) =>
  attempts.map(({ routeId, outcome, chargedCredits, why }) => [routeId, outcome, chargedCredits, why] as const);

test("explains for each attempt why it is or is not charged, and matches the prices of the stored attempts", async () => {
  const { scene, id } = await live(
    [
      { fault: "429", retry_after_s: 1, times: 1, endpoint: "life/fal" },
      { fault: "fail", endpoint: "life/fal" },
      { fault: "drop-after", provider: "replicate", times: 1 },
      { fault: "fail", provider: "replicate" },
    ],
    [{ ...FAL, onRefusal: "next" }, REPLICATE, SPARE],
  );
  const costs = await costsFor(scene, id);
  expect(inShort(costs)).toEqual([
    ["life/fal", "failed", 0, "the attempt failed (the job failed at the provider)"],
    ["life/replicate", "failed", 0, "the attempt failed (the job failed at the provider)"],
    ["life/spare", "delivered", 30, "the attempt delivered and is charged at its own price"],
  ]);
  expect(costs.attempts.map(({ onTheWay }) => onTheWay)).toEqual([
    ["delayed: the provider's rate limit was exceeded", "sent 2 times"],
    ["the response was lost", "confirmed: the provider accepted the request"],
    [],
  ]);
  expect([costs.heldCredits, costs.chargedCredits, costs.releasedCredits, costs.unpaid]).toEqual([30, 30, 0, null]);
  const rows = await scene.attempts(id);
  expect(costs.attempts.map(({ priceCredits, endedAtMs }) => [priceCredits, endedAtMs])).toEqual(
    rows.map(({ priceCredits, endedAtMs }) => [priceCredits, endedAtMs]),
  );
  const began = (await scene.store.eventsOf(await scene.seqOf(id))).filter(({ event }) => event.type === "begun");
  expect(costs.attempts.map(({ beganAtMs }) => beganAtMs)).toEqual(began.map(({ atMs }) => atMs));
});

test("reports a restart and an attempt that the provider never received", async () => {
  const { again, id } = await eventful();
  const costs = await costsFor(again, id);
  expect(inShort(costs).map(([, outcome, charged]) => [outcome, charged])).toEqual([
    ["not received", 0],
    ["delivered", 30],
  ]);
  expect(costs.attempts.map(({ onTheWay }) => onTheWay)).toEqual([
    ["the service restarted while the request may have been sent"],
    ["the response was lost", "confirmed: the provider accepted the request"],
  ]);
});

test("charges nothing when all attempts failed, releases the whole hold and gives the reason", async () => {
  const { scene, id } = await live([{ fault: "refuse" }], [{ ...FAL, onRefusal: "fail" }, SPARE]);
  const costs = await costsFor(scene, id);
  expect(inShort(costs)).toEqual([
    ["life/fal", "refused", 0, "the provider refused the input (the provider's content rules refuse the input)"],
  ]);
  expect([costs.heldCredits, costs.chargedCredits, costs.releasedCredits]).toEqual([30, 0, 30]);
  expect(costs.unpaid).toBe((await scene.show(id)).error?.message ?? "no error");
});

test("reports an input that a provider does not support as rejected, and a missing result as failed", async () => {
  const { scene, id } = await live([
    { fault: "invalid", endpoint: "life/fal" },
    { fault: "402", endpoint: "life/replicate" },
    { fault: "missing", endpoint: "life/spare" },
  ]);
  expect(inShort(await costsFor(scene, id))).toEqual([
    ["life/fal", "rejected", 0, "the provider rejected the request (the provider does not support this input)"],
    ["life/replicate", "rejected", 0, "the provider rejected the request (the operator's balance at the provider was used up)"],
    ["life/spare", "failed", 0, "the attempt failed (the result had expired before it could be downloaded)"],
  ]);
});

test("charges a late result of an attempt that ran out of time, and not the attempt that it supersedes", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "late-ms", ms: 900_000, endpoint: "life/fal", times: 1 });
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  await scene.untilAttempts(id, "capped", "accepted");
  const meanwhile = await costsFor(scene, id);
  expect(meanwhile.attempts.map(({ outcome, endedAtMs }) => [outcome, endedAtMs === null])).toEqual([
    ["timed out", false],
    ["running", true],
  ]);
  expect([meanwhile.chargedCredits, meanwhile.unpaid]).toEqual([0, expect.stringContaining("has not ended")]);
  scene.clock.skip(320_000);
  await scene.until(id);
  const costs = await costsFor(scene, id);
  expect(inShort(costs).map(([, outcome, charged]) => [outcome, charged])).toEqual([
    ["delivered", 20],
    ["superseded", 0],
  ]);
  expect(costs.attempts[1]?.why).toContain("the customer does not pay");
  expect([costs.chargedCredits, costs.releasedCredits]).toEqual([20, costs.heldCredits - 20]);
});

test("reports a lost response as being confirmed, and then as lost and not charged if it cannot be confirmed", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "drop-after", endpoint: "life/fal" });
  scene.simulator.script({ fault: "list-5xx", provider: "fal" });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.states(id)).at(-1) === "running.confirming.acceptance", "confirming");
  const costs = await costsFor(scene, id);
  expect(inShort(costs)).toEqual([["life/fal", "being confirmed", 0, "nothing is charged before a delivery"]]);
  scene.clock.skip(600_000);
  await scene.until(id);
  const after = await costsFor(scene, id);
  expect(inShort(after).map(([, outcome, charged]) => [outcome, charged])).toEqual([
    ["lost", 0],
    ["delivered", 25],
  ]);
  expect(after.attempts[0]?.why).toContain("the outcome could not be confirmed");
});

test("shows members the same cost breakdown with numbered routes and without provider names", async () => {
  const { scene, id } = await live([{ fault: "fail", endpoint: "life/fal" }]);
  const costs = await costsFor(scene, id, { onlooker: "member", accountSeq: scene.tenant.accountSeq });
  expect(costs.attempts.map(({ routeId, outcome }) => [routeId, outcome])).toEqual([
    ["Route 1", "failed"],
    ["Route 2", "delivered"],
  ]);
  expect(JSON.stringify(costs)).not.toContain("life/");
});
