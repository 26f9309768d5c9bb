// A parked generation (operator.md, security.md 5): an operator settles, fails or retries it with a reason, and books, journal and replay agree.
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

/** What is on disk of it is what the machine does, and says who decided. */
const expectBooks = async (scene: Scene, id: string, type: string) => {
  const seq = await scene.seqOf(id);
  const [journal, transfers] = [await scene.store.journalOf(seq), await scene.store.transfersOf(seq)];
  const { plan, waitEndsAtMs } = (await scene.store.planOf(seq)) ?? { plan: [], waitEndsAtMs: 0 };
  expect(journal.filter(({ event }) => event.type === type)).toMatchObject([{ event: { by: "Ada", reason: WHY } }]);
  const { createdAtMs } = (await scene.store.generationBySeq(seq)) ?? { createdAtMs: 0 };
  const told = replay({ createdAtMs, collectMs: 600_000, plan, waitEndsAtMs, journal, transfers });
  expect(told.faults).toEqual([]);
  expect(told.steps.map((step) => step.description)).toContainEqual(expect.stringContaining(`Ada `));
  const [line] = await scene.store.audit(null, 10, { action: "decide-generation" });
  expect(line).toMatchObject({ actor: { name: "Ada" }, target: id, detail: { reason: WHY } });
  await scene.verify();
};

test("settled: the files of the attempt that delivered are fetched, and it is charged once", async () => {
  const scene = await openScene({ routes: [FAL], around: refusing(1) });
  const { id } = await scene.begin();
  await scene.until(id, isParked);
  const decided = await (await decider(scene))(id, "settle", 1);
  expect(decided).toMatchObject({ isTaken: true, state: "running.confirming.result" });
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(scene.rooms.stuck.count("parked")).toBe(0);
  await expectBooks(scene, id, "settledByOperator");
});

test("failed: the whole hold goes back, the customer reads that it ended, and what its provider delivers is an orphan", async () => {
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

test("retried after a restart: its provider is asked again, nothing is sent twice, and it is charged once", async () => {
  const lasting = await openLasting([FAL], { around: refusing(1) });
  const { id } = await lasting.first.begin();
  await lasting.first.until(id, isParked);
  await lasting.die();
  const again = await lasting.reopen();
  expect(again.rooms.stuck.count("parked")).toBe(1);
  expect(await (await decider(again))(id, "retry")).toMatchObject({ isTaken: true, state: "running.confirming.result" });
  expect((await again.until(id)).status).toBe("succeeded");
  expect(again.received()).toEqual(["fal"]);
  expect(again.rooms.stuck.count("parked")).toBe(0);
  await expectBooks(again, id, "retriedByOperator");
});

test("retried while the defect lasts: it is parked again, its hold is kept, and it can be failed then", async () => {
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

test("one that runs can be failed: its job is stopped where that is possible, and its seat is free", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE], env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  const id = await scene.occupy();
  await (await decider(scene))(id, "fail");
  await scene.hurry(() => scene.simulator.jobs()[0]?.state === "cancelled");
  const next = await scene.begin();
  expect((await scene.until(next.id)).status).toBe("succeeded");
  expect(await scene.store.generationBySeq(await scene.seqOf(id))).toMatchObject({ status: "failed", costCredits: 0 });
});

test("two decide at once: one is carried out, and the other is told that it was not", async () => {
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

test("what cannot be decided is told with the reason, and changes nothing", async () => {
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
    /is running.polling: it continues without an operator, and can only be failed/,
  );
  await expect(decide(running, "retry")).rejects.toThrow(/is running.polling/);
  expect(await scene.store.audit(null, 10, { action: "decide-generation" })).toHaveLength(1);
  await decide(running, "fail");
});
