// Cost breakdown of the replay page, compared with the stored attempts and the ledger.
import { expect, test } from "bun:test";
import { type Bill, billOf } from "../../actors/replay/cost-breakdown.ts";
import { replay } from "../../actors/replay/replay.ts";
import { type Asker, replayOf } from "../../src/inspector/replay-api.ts";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { eventful } from "../generation/eventful.ts";
import { openScene, type Scene } from "../generation/fixture.ts";

const billFor = async ({ store }: Pick<Scene, "store">, id: string, asker: Asker = { onlooker: "words" }): Promise<Bill> => {
  const { given } = await replayOf({ store, collectMs: 600_000 }, id, asker);
  return billOf(replay(given).steps, given.transfers);
};
/** Runs a generation from its submission to its end, with scripted provider faults. */
const live = async (rules: Rule[], routes = [FAL, REPLICATE, SPARE]) => {
  const scene = await openScene({ routes });
  for (const rule of rules) scene.simulator.script(rule);
  const { id } = await scene.begin();
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  return { scene, id };
};
const inShort = ({ attempts }: Bill) =>
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
  const bill = await billFor(scene, id);
  expect(inShort(bill)).toEqual([
    ["life/fal", "failed", 0, "it delivered nothing: the work failed there"],
    ["life/replicate", "failed", 0, "it delivered nothing: the work failed there"],
    ["life/spare", "delivered", 30, "it delivered, and is charged at its own price; no other attempt is"],
  ]);
  expect(bill.attempts.map(({ onTheWay }) => onTheWay)).toEqual([
    ["put off: it had too many requests", "sent 2 times"],
    ["its answer was lost", "confirmed: the provider had it"],
    [],
  ]);
  expect([bill.heldCredits, bill.chargedCredits, bill.releasedCredits, bill.unpaid]).toEqual([30, 30, 0, null]);
  const rows = await scene.attempts(id);
  expect(bill.attempts.map(({ priceCredits, endedAtMs }) => [priceCredits, endedAtMs])).toEqual(
    rows.map(({ priceCredits, endedAtMs }) => [priceCredits, endedAtMs]),
  );
  const began = (await scene.store.journalOf(await scene.seqOf(id))).filter(({ event }) => event.type === "begun");
  expect(bill.attempts.map(({ beganAtMs }) => beganAtMs)).toEqual(began.map(({ atMs }) => atMs));
});

test("reports a restart and an attempt that never arrived", async () => {
  const { again, id } = await eventful();
  const bill = await billFor(again, id);
  expect(inShort(bill).map(([, outcome, charged]) => [outcome, charged])).toEqual([
    ["never arrived", 0],
    ["delivered", 30],
  ]);
  expect(bill.attempts.map(({ onTheWay }) => onTheWay)).toEqual([
    ["the service restarted while it may have been out"],
    ["its answer was lost", "confirmed: the provider had it"],
  ]);
});

test("charges nothing when all attempts failed, releases the whole hold and gives the reason", async () => {
  const { scene, id } = await live([{ fault: "refuse" }], [{ ...FAL, onRefusal: "fail" }, SPARE]);
  const bill = await billFor(scene, id);
  expect(inShort(bill)).toEqual([["life/fal", "refused", 0, "the provider refused it: its content rules refuse the input"]]);
  expect([bill.heldCredits, bill.chargedCredits, bill.releasedCredits]).toEqual([30, 0, 30]);
  expect(bill.unpaid).toBe((await scene.show(id)).error?.message ?? "no error");
});

test("reports an input that a provider rejects as refused, and a missing result as failed", async () => {
  const { scene, id } = await live([
    { fault: "invalid", endpoint: "life/fal" },
    { fault: "402", endpoint: "life/replicate" },
    { fault: "missing", endpoint: "life/spare" },
  ]);
  expect(inShort(await billFor(scene, id))).toEqual([
    ["life/fal", "refused", 0, "the provider did not take it: it does not take this input"],
    ["life/replicate", "refused", 0, "the provider did not take it: the operator's funds there were used up"],
    ["life/spare", "failed", 0, "it delivered nothing: the result was gone before it could be fetched"],
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
  const meanwhile = await billFor(scene, id);
  expect(meanwhile.attempts.map(({ outcome, endedAtMs }) => [outcome, endedAtMs === null])).toEqual([
    ["out of time", false],
    ["at work", true],
  ]);
  expect([meanwhile.chargedCredits, meanwhile.unpaid]).toEqual([0, expect.stringContaining("has not ended")]);
  scene.clock.skip(320_000);
  await scene.until(id);
  const bill = await billFor(scene, id);
  expect(inShort(bill).map(([, outcome, charged]) => [outcome, charged])).toEqual([
    ["delivered", 20],
    ["superseded", 0],
  ]);
  expect(bill.attempts[1]?.why).toContain("not the customer's");
  expect([bill.chargedCredits, bill.releasedCredits]).toEqual([20, bill.heldCredits - 20]);
});

test("reports a lost response as being confirmed, and then as lost and not charged if it cannot be confirmed", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "drop-after", endpoint: "life/fal" });
  scene.simulator.script({ fault: "list-5xx", provider: "fal" });
  const { id } = await scene.begin();
  await scene.eventually(async () => (await scene.states(id)).at(-1) === "running.confirming.acceptance", "confirming");
  const bill = await billFor(scene, id);
  expect(inShort(bill)).toEqual([["life/fal", "being confirmed", 0, "nothing is charged before it has delivered"]]);
  scene.clock.skip(600_000);
  await scene.until(id);
  const after = await billFor(scene, id);
  expect(inShort(after).map(([, outcome, charged]) => [outcome, charged])).toEqual([
    ["lost", 0],
    ["delivered", 25],
  ]);
  expect(after.attempts[0]?.why).toContain("its outcome could not be confirmed");
});

test("shows members the same cost breakdown with numbered routes and without provider names", async () => {
  const { scene, id } = await live([{ fault: "fail", endpoint: "life/fal" }]);
  const bill = await billFor(scene, id, { onlooker: "member", accountSeq: scene.tenant.accountSeq });
  expect(bill.attempts.map(({ routeId, outcome }) => [routeId, outcome])).toEqual([
    ["Route 1", "failed"],
    ["Route 2", "delivered"],
  ]);
  expect(JSON.stringify(bill)).not.toContain("life/");
});
