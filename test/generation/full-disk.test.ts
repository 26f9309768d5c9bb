// Tests of a disk that is full for longer than every deadline: no job is lost, purchased twice or submitted too late.
import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { createAdminService } from "../../src/admin/admin-service.ts";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { StorageRefused } from "../../src/files/port.ts";
import type { Store } from "../../src/store/store.ts";
import { inventoryOver } from "../cli/catalogue-fixture.ts";
import { FAL, REPLICATE } from "./catalogue.ts";
import { expectEnd, openScene, type Scene, type SceneOptions } from "./fixture.ts";
import { someApply } from "./transitions.ts";

/** Far longer than the time for collecting, the time of a route and a short wait. */
const OUTAGE_MS = 1_500_000;
const STEP_MS = 5_000;

/** A disk that is full from the first transition by an event of one type, until `isFull` is reset. */
const fillingAt = (type: string) => {
  const disk = { type, isFull: false };
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => {
      if (someApply(mutations, disk.type)) disk.isFull = true;
      return disk.isFull ? Promise.reject(new StoreFull("full")) : store.commit(mutations);
    },
  });
  return { disk, around };
};

/** Runs a generation whose disk fills up at a transition for `OUTAGE_MS`. The API serves polls meanwhile. */
const outlast = async (type: string, more: SceneOptions & { body?: JsonObject; isIntent?: true } = {}): Promise<Ended> => {
  const { disk, around } = fillingAt(type);
  const { body, isIntent, ...options } = more;
  const scene = await openScene({ routes: [FAL, REPLICATE], factor: 20, around, ...options });
  const free = isIntent ? scene.fillSlots("fal") : undefined;
  const { id } = await scene.begin(body);
  if (isIntent) await scene.untilAttempts(id, "intent");
  free?.();
  await scene.hurry(() => disk.isFull, 2_000);
  disk.type = "";
  for (let passedMs = 0; passedMs < OUTAGE_MS; passedMs += STEP_MS) {
    scene.clock.skip(STEP_MS);
    expect((await scene.show(id)).status).toBe(type === "begun" ? "queued" : "running");
  }
  const received = scene.received();
  disk.isFull = false;
  await scene.hurry(async () => ["succeeded", "failed"].includes((await scene.show(id)).status), 1_000);
  return { scene, id, received };
};
type Ended = { scene: Scene; id: string; received: readonly string[] };

for (const type of ["accepted", "announced", "collected"])
  test(`delivers and charges the one job when the disk is full from "${type}" on for longer than every deadline`, async () => {
    const { scene, id } = await outlast(type);
    await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
  });

test("submits when there is space again, with the full time of the route, if the disk was full before the submission", async () => {
  const { scene, id, received } = await outlast("slotTaken", { isIntent: true });
  expect(received).toEqual([]);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("submits when there is space again, with the full time of the route, if the disk was full when the attempt began", async () => {
  const { scene, id, received } = await outlast("begun");
  expect(received).toEqual([]);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("submits nothing and times out if the disk was full before the submission until max_wait_s had passed", async () => {
  const { scene, id } = await outlast("slotTaken", { isIntent: true, body: { max_wait_s: 60 } });
  await expectEnd(scene, id, { ends: "timed_out", attempts: ["cancelled"], received: [] });
});

test("downloads the result files when result storage and database have space again after both were full", async () => {
  let isRefusing = true;
  const { disk, around } = fillingAt("storageReturned");
  const scene = await openScene({
    ...{ routes: [FAL, REPLICATE], factor: 20, around },
    aroundFiles: (files) => ({
      ...files,
      receive: (id, n) => (isRefusing ? Promise.reject(new StorageRefused("no space")) : files.receive(id, n)),
    }),
  });
  const { id } = await scene.begin();
  await scene.hurry(() => disk.isFull, 2_000);
  disk.type = "";
  for (let passedMs = 0; passedMs < OUTAGE_MS; passedMs += STEP_MS) {
    scene.clock.skip(STEP_MS);
    await scene.show(id);
  }
  [isRefusing, disk.isFull] = [false, false];
  await scene.hurry(async () => (await scene.show(id)).status !== "running", 1_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("polls once more before it gives up a job when the process was stalled past the route's time", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE], factor: 1 });
  scene.simulator.script({ fault: "late-ms", ms: 30_000, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.stall(OUTAGE_MS);
  await scene.hurry(async () => (await scene.show(id)).status !== "running", 1_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});

test("rejects a balance adjustment without writing it while the disk is full, so a second one adds the credits once", async () => {
  let isFull = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => (isFull ? Promise.reject(new StoreFull("full")) : store.commit(mutations)),
  });
  const scene = await openScene({ around });
  const { clock, components, store } = scene;
  const admin = createAdminService({
    reads: store,
    post: components.post,
    mode: "test",
    clock,
    ...inventoryOver(store, tmpdir()),
  });
  const add = (reference: string) => admin.addCredits({ reference, accountId: scene.tenant.accountId, credits: 2_500, note: "" });
  const before = await scene.balance();
  isFull = true;
  await expect(add("first")).rejects.toBeInstanceOf(StoreFull);
  isFull = false;
  await scene.hurry(() => !components.ledger.load().isFull, 1_000);
  expect((await add("second")).transferredCredits).toBe(2_500);
  clock.skip(60_000);
  expect(await scene.balance()).toEqual({ ...before, available: before.available + 2_500 });
});

test("downloads result files that storage refused for two hours, without a violation in verify meanwhile", async () => {
  let isRefusing = true;
  const scene = await openScene({
    ...{ routes: [FAL, REPLICATE], factor: 20 },
    aroundFiles: (files) => ({
      ...files,
      receive: (id, n) => (isRefusing ? Promise.reject(new StorageRefused("no space")) : files.receive(id, n)),
    }),
  });
  const { id } = await scene.begin({ max_wait_s: 60 });
  await scene.hurry(async () => (await scene.states(id)).at(-1) === "running.collecting.stalled", 1_000);
  for (let passedMs = 0; passedMs < 7_200_000; passedMs += 15_000) {
    scene.clock.skip(15_000);
    await scene.show(id);
  }
  for (const nowMs of [scene.clock.nowMs(), null]) expect((await scene.store.verify(nowMs)).filter(({ ok }) => !ok)).toEqual([]);
  isRefusing = false;
  await scene.hurry(async () => (await scene.show(id)).status !== "running", 1_000);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
});
