// Parked generations: an operator settles, fails or retries them.
//
// After each decision the ledger, the generation events and the replay agree.
import { expect, test } from "bun:test";
import { replay } from "../../actors/replay/replay.ts";
import type { Decision } from "../../src/domain/operator-decision.ts";
import { FAL, REPLICATE } from "../generation/catalogue.ts";
import { expectEnd, openScene, type Scene } from "../generation/fixture.ts";
import { openLasting } from "../generation/lasting.ts";
import { isParked, refusing } from "../generation/refusing.ts";

const BY = { kind: "user", id: "per_1", name: "Ada" } as const;
const WHY = "seen at the provider";

const decider = async (scene: Scene) => {
  const admin = await scene.admin();
  return (id: string, decision: Decision, attempt: number | null = null) =>
    admin.decideGeneration({ id, decision, attempt, reason: WHY, by: BY });
};

/** The stored events replay without a fault and name the principal of the decision. */
const expectBooks = async (scene: Scene, id: string, type: string) => {
  const seq = await scene.seqOf(id);
  const [events, transfers] = [await scene.store.eventsOf(seq), await scene.store.transfersOf(seq)];
  const { plan, waitEndsAtMs } = (await scene.store.planOf(seq)) ?? { plan: [], waitEndsAtMs: 0 };
  expect(events.filter(({ event }) => event.type === type)).toMatchObject([{ event: { by: "Ada", reason: WHY } }]);
  const { createdAtMs } = (await scene.store.generationBySeq(seq)) ?? { createdAtMs: 0 };
  const reported = replay({ createdAtMs, collectMs: 600_000, plan, waitEndsAtMs, journal: events, transfers });
  expect(reported.faults).toEqual([]);
  expect(reported.steps.map((step) => step.description)).toContainEqual(expect.stringContaining(`Ada `));
  const [line] = await scene.store.audit(null, 10, { action: "decide-generation" });
  expect(line).toMatchObject({ actor: { name: "Ada" }, target: id, detail: { reason: WHY } });
  await scene.verify();
};

test("settle downloads the files of the delivering attempt and charges the generation once", async () => {
  const scene = await openScene({ routes: [FAL], around: refusing(1) });
  const { id } = await scene.begin();
  await scene.until(id, isParked);
  const decided = await (await decider(scene))(id, "settle", 1);
  expect(decided).toMatchObject({ isTaken: true, state: "running.confirming.result" });
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(scene.components.stuck.count("parked")).toBe(0);
  await expectBooks(scene, id, "settledByOperator");
});

test("fail releases the whole hold, shows the reason to the client and lists the provider job as an orphan", async () => {
  const scene = await openScene({ routes: [FAL], around: refusing(1) });
  const { id } = await scene.begin();
  await scene.until(id, isParked);
  expect(await (await decider(scene))(id, "fail")).toMatchObject({ isTaken: true, status: "failed", costCredits: 0 });
  const shown = await expectEnd(scene, id, { ends: "provider_failed", attempts: ["lost"], received: ["fal"] });
  expect(shown.error?.message).toBe("The operator ended this generation. Nothing was charged.");
  expect(await scene.balance()).toMatchObject({ held: 0, charged: 0 });
  expect(await scene.store.orphans(0)).toMatchObject([{ generationId: id, n: 1 }]);
  await expectBooks(scene, id, "failedByOperator");
});

test("retry after a restart polls the provider again, submits no second job and charges the generation once", async () => {
  const lasting = await openLasting([FAL], { around: refusing(1) });
  const { id } = await lasting.first.begin();
  await lasting.first.until(id, isParked);
  await lasting.die();
  const again = await lasting.reopen();
  expect(again.components.stuck.count("parked")).toBe(1);
  expect(await (await decider(again))(id, "retry")).toMatchObject({ isTaken: true, state: "running.confirming.result" });
  expect((await again.until(id)).status).toBe("succeeded");
  expect(again.received()).toEqual(["fal"]);
  expect(again.components.stuck.count("parked")).toBe(0);
  await expectBooks(again, id, "retriedByOperator");
});

test("retry parks the generation again with its hold while the defect persists, and fail still ends it", async () => {
  const scene = await openScene({ routes: [FAL], around: refusing(2) });
  const { id } = await scene.begin();
  await scene.until(id, isParked);
  const decide = await decider(scene);
  await decide(id, "retry");
  await scene.hurry(async () => (await scene.states(id)).filter((state) => state === "running.parked").length === 2);
  expect(await scene.states(id)).toContain("running.confirming.result");
  expect((await scene.balance()).held).toBe(20);
  await decide(id, "fail");
  await expectEnd(scene, id, { ends: "provider_failed", attempts: ["lost"], received: ["fal"] });
});

test("fail ends a running generation, cancels its provider job and frees its place in the run queue", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE], env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  const id = await scene.occupy();
  await (await decider(scene))(id, "fail");
  await scene.hurry(() => scene.simulator.jobs()[0]?.state === "cancelled");
  const next = await scene.begin();
  expect((await scene.until(next.id)).status).toBe("succeeded");
  expect(await scene.store.generationBySeq(await scene.seqOf(id))).toMatchObject({ status: "failed", costCredits: 0 });
});

test("only one of two concurrent decisions is carried out, and the other returns isTaken: false", async () => {
  const scene = await openScene({ routes: [FAL], around: refusing(1) });
  const { id } = await scene.begin();
  await scene.until(id, isParked);
  const decide = await decider(scene);
  const [failed, retried] = await Promise.all([decide(id, "fail"), decide(id, "retry")]);
  expect([failed, retried]).toMatchObject([
    { isTaken: true, status: "failed" },
    { isTaken: false, status: "failed" },
  ]);
  expect(await scene.states(id)).toEqual(expect.not.arrayContaining(["running.confirming.acceptance"]));
});

test("rejects a decision with its reason for an unknown, completed or running generation and changes nothing", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE], around: refusing(1) });
  const decide = await decider(scene);
  await expect(decide("gen_01k0000000000000000000", "fail")).rejects.toThrow(/there is no generation/);
  const ended = await scene.begin();
  await scene.until(ended.id, isParked);
  await expect(decide(ended.id, "settle", 2)).rejects.toThrow(/has no attempt 2/);
  await decide(ended.id, "settle");
  await scene.until(ended.id);
  for (const decision of ["settle", "fail", "retry"] as const)
    await expect(decide(ended.id, decision)).rejects.toThrow(/has ended: it succeeded/);
  const running = await scene.occupy();
  await expect(decide(running, "settle")).rejects.toThrow(
    /is running.polling: it continues without an operator; the only possible decision is fail/,
  );
  await expect(decide(running, "retry")).rejects.toThrow(/is running.polling/);
  expect(await scene.store.audit(null, 10, { action: "decide-generation" })).toHaveLength(1);
  await decide(running, "fail");
});
