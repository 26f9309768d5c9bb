// Tests of store failures: a full disk, an unknown commit outcome, a refused settlement and a failing read.
import { expect, test } from "bun:test";
import { StoreFull, StoreUnknown } from "../../src/domain/commit-errors.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import { FAL, INPUT, MODEL, REPLICATE } from "./catalogue.ts";
import { expectEnd, INITIAL_CREDITS, openScene } from "./fixture.ts";
import { openLasting } from "./lasting.ts";
import { someApply } from "./transitions.ts";

const order = (prompt: string = INPUT.prompt) => ({ model: MODEL, input: { prompt } });

test("rejects submissions with 503 busy while the disk is full, still serves reads, and settles once when there is space", async () => {
  let isFull = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => (isFull ? Promise.reject(new StoreFull("full")) : store.commit(mutations)),
  });
  const scene = await openScene({ around });
  scene.simulator.script({ fault: "late-ms", ms: 30_000 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  isFull = true;
  const refused = await scene.request("POST", "/v1/generations", { body: order(), headers: { "idempotency-key": "k" } });
  expect(refused).toMatchObject({ status: 503, body: { error: { code: "busy" } } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  scene.clock.skip(30_000);
  await scene.eventually(() => scene.components.ledger.load().isFull);
  for (let turn = 0; turn < 20; turn += 1) {
    scene.clock.skip(5000);
    expect(await scene.show(id)).toMatchObject({ status: "running", attempts: 1, cost_usd: null });
  }
  expect((await scene.balance()).held).toBe(30);
  expect(scene.lines.map(({ event }) => event)).toContain("database disk full");
  isFull = false;
  scene.clock.skip(10_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect((await scene.request("GET", "/readyz", { key: null })).status).toBe(200);
  const again = await scene.request("POST", "/v1/generations", { body: order(), headers: { "idempotency-key": "k" } });
  expect(again.status).toBe(202);
});

test("rejects submissions with 503 busy when the database reaches its maximum size, and completes all after a restart with more space", async () => {
  const lasting = await openLasting([{ ...FAL, maxRunning: 1 }], { pragmas: { maxPages: 160 } });
  const { first } = lasting;
  first.simulator.script({ fault: "late-ms", ms: 500_000, times: 1 });
  const ids = [(await first.begin()).id];
  await first.untilAttempts(ids[0] ?? "", "accepted");
  const long = "x".repeat(9000);
  for (let each = 0; ; each += 1) {
    const answered = await first.request("POST", "/v1/generations", { body: order(`${long}${each}`) });
    if (answered.status !== 202) {
      expect(answered).toMatchObject({ status: 503, body: { error: { code: "busy" } } });
      break;
    }
    ids.push(String(answered.body.id));
  }
  expect(ids.length).toBeGreaterThan(3);
  expect((await first.balance()).inProgress).toBe(ids.length);
  await first.verify();
  await lasting.die();
  const again = await lasting.reopen();
  await again.hurry(async () => (await again.balance()).inProgress === 0, 500);
  expect(await again.balance()).toEqual({
    available: INITIAL_CREDITS - 20 * ids.length,
    held: 0,
    charged: 20 * ids.length,
    inProgress: 0,
  });
  expect(again.received()).toHaveLength(ids.length);
});

test("returns 500, requests a stop of the process and commits nothing more after an unknown commit outcome", async () => {
  let commits = 0;
  let inDoubt = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations: readonly Mutation[]) => {
      commits += 1;
      const outcomes = await store.commit(mutations);
      // A failed fsync: an error, although the rows are written.
      if (inDoubt) throw new StoreUnknown("fsync failed");
      return outcomes;
    },
  });
  const lasting = await openLasting([FAL, REPLICATE], { around });
  const { first } = lasting;
  first.simulator.script({ fault: "late-ms", ms: 20_000 });
  const { id } = await first.begin();
  await first.untilAttempts(id, "accepted");
  inDoubt = true;
  const headers = { "idempotency-key": "in doubt" };
  const answered = await first.request("POST", "/v1/generations", { body: order(), headers });
  // The submission is neither accepted nor rejected: the client can only resend it with the same idempotency key.
  expect(answered).toMatchObject({ status: 500, body: { error: { code: "server_error" } } });
  expect(first.lines.filter(({ event }) => event === "commit outcome unknown").length).toBeGreaterThan(0);
  const after = commits;
  first.clock.skip(60_000);
  await first.eventually(() => first.lines.some(({ event }) => event === "generation stopped"));
  expect((await first.request("POST", "/v1/generations", { body: order() })).status).toBeGreaterThanOrEqual(500);
  expect(commits).toBe(after);
  expect(first.received()).toEqual(["fal"]);
  await lasting.die();
  const again = await lasting.reopen();
  const replayed = await again.request("POST", "/v1/generations", { body: order(), headers, key: lasting.tenant.key });
  expect(replayed.status).toBe(200);
  await again.hurry(async () => (await again.balance()).inProgress === 0);
  expect(await again.balance()).toMatchObject({ held: 0, charged: 40 });
  expect(again.received()).toEqual(["fal", "fal"]);
});

test("parks a generation whose settlement the store refuses, keeps its hold, frees its place, and reports it in log, gauge and verify", async () => {
  let isTampered = true;
  // A capture that differs from the quote, as a defect would cause.
  const tamper = (mutation: Mutation): Mutation => {
    if (!isTampered || mutation.mutation !== "step" || mutation.settlement?.kind !== "capture") return mutation;
    isTampered = false;
    return { ...mutation, settlement: { ...mutation.settlement, credits: mutation.settlement.credits + 1 } };
  };
  const around = (store: Store): Store => ({ ...store, commit: (mutations) => store.commit(mutations.map(tamper)) });
  const lasting = await openLasting([FAL], { around, env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  const { first } = lasting;
  const { id } = await first.begin();
  const parked = await first.until(id, ({ message }) => message?.includes("operator") ?? false);
  expect(parked).toMatchObject({ status: "running", attempts: 1, cost_usd: null, output: null, reserved_usd: 0.2, error: null });
  expect((await first.balance()).held).toBe(20);
  expect(first.lines.filter(({ event }) => event === "generation parked")).toMatchObject([{ fields: { generation_id: id } }]);
  const requireReported = async (scene: typeof first) => {
    expect((await scene.request("GET", "/readyz", { key: null })).status).toBe(200);
    expect([scene.components.stuck.count("parked"), scene.components.stuck.count("stopped")]).toEqual([1, 0]);
    const broken = (await scene.store.verify(scene.clock.nowMs())).filter(({ ok }) => !ok);
    expect(broken).toMatchObject([{ invariant: 9, offending: [{ generation: id }] }]);
  };
  await requireReported(first);
  // Its place is free: the next generation runs and ends.
  const next = await first.begin();
  expect((await first.until(next.id)).status).toBe("succeeded");
  await lasting.die();
  const again = await lasting.reopen();
  await requireReported(again);
  again.clock.skip(86_400_000);
  expect(await again.show(id)).toMatchObject({ status: "running", message: parked.message });
  expect(again.received()).toEqual(["fal", "fal"]);
  await again.crash();
});

test("frees the submission slots of attempts whose begin the store refuses", async () => {
  const SLOTS = 64;
  // A running generation without a snapshot, as a defect would cause.
  const tamper = (mutation: Mutation): Mutation =>
    someApply([mutation], "begun") ? ({ ...mutation, snapshot: null } as Mutation) : mutation;
  const around = (store: Store): Store => ({ ...store, commit: (mutations) => store.commit(mutations.map(tamper)) });
  const scene = await openScene({ routes: [FAL], around });
  const { id } = await scene.begin();
  await scene.until(id, ({ message }) => message?.includes("operator") ?? false);
  let free = 0;
  while (scene.components.providers.trySlot("fal")) free += 1;
  expect(free).toBe(SLOTS);
  await scene.crash();
});

test("repeats an effect whose read of the store fails, until the read succeeds", async () => {
  let failing = 6;
  const around = (store: Store): Store => ({
    ...store,
    inputOf: async (seq) => {
      if (failing > 0 && failing-- > 0) throw new Error("disk I/O error");
      return store.inputOf(seq);
    },
  });
  // A process that did not admit the generation reads its input.
  const lasting = await openLasting([FAL], { death: { at: "before", event: "begun" } });
  const { id } = await lasting.first.begin();
  await lasting.reached;
  await lasting.die();
  const scene = await lasting.reopen({ around });
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  expect(scene.lines.filter(({ fields }) => fields.generation_seq !== undefined)).toHaveLength(6);
});
