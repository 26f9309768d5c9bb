// Tests of restoring a backup after the service had continued: no job that was purchased meanwhile is purchased again.

import { Database } from "bun:sqlite";
import { expect, onTestFinished, test } from "bun:test";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import { generationSeqAt } from "../../src/domain/ids.ts";
import { createSimulator, type Rule } from "../../src/simulator/simulator.ts";
import { RESTORED_AT, TAKEN_AT, UP_TO_SEQ } from "../../src/store/sql/queries/recovery.ts";
import { markRestored } from "../../src/store/sqlite/mark-restored.ts";
import type { Store } from "../../src/store/store.ts";
import { testClock } from "../clock.ts";
import { dropScratch } from "../scratch.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, openScene, type Scene } from "./fixture.ts";
import { someApply } from "./transitions.ts";

/**
 * Generation numbers are ahead of the clock here, as after a clock that was set back: code must not read a time from them.
 * Those of the restored service continue after those of the first one.
 */
const numberedFrom =
  (year: number) =>
  (store: Store): Store => ({ ...store, newestGeneration: generationSeqAt(Date.UTC(year, 0, 1)) });

const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };
const PUT_BACK_AFTER_MS = 300_000;

type Story = {
  routes: readonly TestRoute[];
  /** The event, and whether the backup is taken before or after its commit. */
  at: "before" | "after";
  event: string;
  /** Faults of the providers before the restore. */
  rules?: readonly Rule[];
  /** The first process ends right after the backup, before it submits anything. */
  dies?: true;
  /** A route that the operator disables before the restored service starts. */
  off?: string;
  /** The time between the end of the first process and the restore. */
  laterMs?: number;
};

/** Runs a service, takes a backup during a generation, and starts a second service on the backup with the same providers. */
const restore = async ({
  routes,
  at,
  event,
  rules = [],
  dies,
  off,
  laterMs = PUT_BACK_AFTER_MS,
}: Story): Promise<{ again: Scene; id: string }> => {
  const parent = mkdtempSync(join(tmpdir(), "restored-"));
  const [dir, copyDir] = [join(parent, "first"), join(parent, "second")];
  for (const path of [dir, copyDir]) mkdirSync(path);
  const clock = testClock(100);
  const simulator = await createSimulator({ clock, kindOf: () => "image" });
  onTestFinished(async () => {
    await simulator.stop();
    clock.stop();
    dropScratch(parent);
  });
  for (const rule of rules) simulator.script(rule);
  let takenAtMs: number | undefined;
  let free: (() => void) | undefined;
  const take = () => {
    if (takenAtMs !== undefined) return;
    takenAtMs = clock.nowMs();
    free?.();
    const db = new Database(join(dir, "genrouter.db"), { readonly: true });
    db.run("VACUUM INTO ?", [join(copyDir, "genrouter.db")]);
    db.close();
  };
  const around = (store: Store): Store => ({
    ...numberedFrom(2030)(store),
    commit: async (mutations) => {
      const isHere = someApply(mutations, event);
      if (isHere && at === "before") take();
      if (isHere && dies) throw new StoreUnknown("the process has died");
      const outcomes = await store.commit(mutations);
      if (isHere && at === "after") take();
      return outcomes;
    },
  });
  const shared = { routes, clock, simulator };
  const first = await openScene({ ...shared, dir, around });
  // An attempt stays in intent only while it waits for a slot.
  if (event === "begun" && at === "after") free = first.fillSlots(routes[0]?.provider ?? "fal");
  const { id } = await first.begin();
  if (dies) await first.eventually(() => takenAtMs !== undefined);
  else await first.until(id);
  await first.crash();
  simulator.clearScript();
  // A restore takes place some time later. The balance is the one in the backup.
  clock.skip(laterMs);
  const db = new Database(join(copyDir, "genrouter.db"));
  markRestored(db, { takenAtMs: takenAtMs ?? 0, nowMs: clock.nowMs() });
  if (off) db.run("INSERT INTO disabled_route VALUES (?, 'a test', 1)", [off]);
  db.close();
  const second = await openScene({ ...shared, dir: copyDir, around: numberedFrom(2031) });
  const { tenant } = first;
  const again: Scene = {
    ...second,
    tenant,
    show: (one, key = tenant.key) => second.show(one, key),
    until: (one) =>
      second.eventually(async () => {
        const shown = await second.show(one, tenant.key);
        return shown.completed_at !== null && shown;
      }, `generation ${one}`),
    balance: (of = tenant) => second.balance(of),
  };
  return { again, id };
};

const MEANS: [string, TestRoute][] = [
  ["our mark", FAL],
  ["its input", { ...FAL, unmarked: true }],
  ["its input in another provider's list", CHEAP_REPLICATE],
];
const MOMENTS: Pick<Story, "at" | "event">[] = [
  { at: "before", event: "begun" },
  { at: "after", event: "begun" },
  { at: "after", event: "slotTaken" },
  { at: "after", event: "accepted" },
  { at: "before", event: "collected" },
];

for (const moment of MOMENTS)
  for (const [by, route] of MEANS)
    test(`finds a job purchased after a backup ${moment.at} "${moment.event}" by ${by}, delivers it and charges it once`, async () => {
      const { again, id } = await restore({ ...moment, routes: [route, SPARE] });
      await again.hurry(async () => (await again.show(id)).completed_at !== null);
      const end: End = { ends: 20, attempts: ["delivered"], received: [route.name] };
      await expectEnd(again, id, end, again.tenant);
      expect(again.simulator.jobs()).toHaveLength(1);
    });

test("finds both the failed and the delivered job of the time after the backup, in order", async () => {
  const rules: Rule[] = [{ fault: "fail", endpoint: "life/replicate" }];
  const { again, id } = await restore({ at: "before", event: "begun", routes: [CHEAP_REPLICATE, SPARE], rules });
  await again.hurry(async () => (await again.show(id)).completed_at !== null);
  await expectEnd(again, id, { ends: 30, attempts: ["failed", "delivered"], received: ["replicate", "spare"] }, again.tenant);
  expect(again.simulator.jobs()).toHaveLength(2);
});

test("finds a job on a later route without a new purchase on the first route, which would accept now", async () => {
  const rules: Rule[] = [{ fault: "403", endpoint: "life/replicate" }];
  const { again, id } = await restore({ at: "before", event: "begun", routes: [CHEAP_REPLICATE, SPARE], rules });
  await again.hurry(async () => (await again.show(id)).completed_at !== null);
  await expectEnd(again, id, { ends: 30, attempts: ["absent", "delivered"], received: ["replicate", "spare"] }, again.tenant);
  expect(again.simulator.jobs()).toHaveLength(1);
});

test("finds the job of the former second attempt with the first attempt when the first route is disabled after the restore", async () => {
  const rules: Rule[] = [{ fault: "403", endpoint: "life/replicate" }];
  const routes = [CHEAP_REPLICATE, { ...FAL, usd: "0.25" }];
  const { again, id } = await restore({ at: "before", event: "begun", routes, rules, off: "life/replicate" });
  await again.hurry(async () => (await again.show(id)).completed_at !== null);
  await expectEnd(again, id, { ends: 25, attempts: ["delivered"], received: ["replicate", "fal"] }, again.tenant);
  expect(again.simulator.jobs()).toHaveLength(1);
});

test("does not purchase on the next route when a job accepted before the backup can no longer be looked up", async () => {
  const story = { at: "after", event: "accepted", routes: [CHEAP_REPLICATE, SPARE], laterMs: 36_000_000 } as const;
  const { again, id } = await restore(story);
  await again.hurry(async () => (await again.show(id)).completed_at !== null, 10_000);
  expect(again.simulator.jobs()).toHaveLength(1);
  expect(await again.balance()).toMatchObject({ held: 0 });
});

test("runs a new generation while a restored attempt is being confirmed", async () => {
  const { again } = await restore({ at: "before", event: "begun", dies: true, routes: [FAL] });
  const { key } = await again.newTenant();
  const answered = await again.request("POST", "/v1/generations", {
    key,
    body: { model: "life", input: { prompt: "a new one" } },
  });
  const id = String(answered.body.id);
  await again.hurry(async () => (await again.show(id, key)).completed_at !== null);
  expect((await again.show(id, key)).status).toBe("succeeded");
});

test("submits a restored attempt after it is proved absent at the provider", async () => {
  const { again, id } = await restore({ at: "before", event: "begun", dies: true, routes: [CHEAP_REPLICATE, SPARE] });
  expect(again.simulator.submissions()).toHaveLength(0);
  await again.hurry(async () => (await again.show(id)).completed_at !== null);
  await expectEnd(again, id, { ends: 20, attempts: ["delivered"], received: ["replicate"] }, again.tenant);
  const reported = again.lines.filter(({ event }) => event === "restored attempt confirmed");
  expect(reported.map(({ fields }) => fields.state)).toEqual(["absent"]);
});

test("does not resubmit to a provider whose list is unavailable", async () => {
  const { again, id } = await restore({ at: "before", event: "begun", routes: [CHEAP_REPLICATE, SPARE] });
  again.simulator.script({ fault: "list-5xx", endpoint: "life/replicate" });
  again.simulator.script({ fault: "list-5xx", provider: "replicate" });
  await again.hurry(async () => (await again.show(id)).completed_at !== null, 10_000);
  const sent = again.simulator.submissions().map(({ endpoint }) => endpoint);
  expect(sent.filter((endpoint) => endpoint === "life/replicate")).toHaveLength(1);
});

test("submits a generation that was accepted after the restore without a lookup", async () => {
  const { again } = await restore({ at: "after", event: "accepted", routes: [CHEAP_REPLICATE, SPARE] });
  const { key } = await again.newTenant();
  const answered = await again.request("POST", "/v1/generations", {
    key,
    body: { model: "life", input: { prompt: "a new one" } },
  });
  expect(answered.status).toBe(202);
  const id = String(answered.body.id);
  await again.hurry(async () => (await again.show(id, key)).completed_at !== null);
  expect(
    again.lines.filter(({ event, fields }) => event === "restored attempt confirmed" && fields.generation_id === id),
  ).toEqual([]);
  expect((await again.show(id, key)).status).toBe("succeeded");
});

test("keeps the time of the first backup in a second restore while generations of that time are still open", () => {
  const db = new Database(":memory:");
  db.run("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID");
  db.run("CREATE TABLE generation (seq INTEGER PRIMARY KEY, completed_at_ms INTEGER)");
  const now = Date.UTC(2026, 10, 1);
  const marks = () =>
    Object.fromEntries(
      db
        .query<{ name: string; value: string }, []>("SELECT name, value FROM meta")
        .all()
        .map(({ name, value }) => [name, Number(value)]),
    );
  db.run("INSERT INTO generation VALUES (1, NULL)");
  markRestored(db, { takenAtMs: now, nowMs: now + 1 });
  markRestored(db, { takenAtMs: now + 10, nowMs: now + 20 });
  expect(marks()).toEqual({ [TAKEN_AT]: now, [RESTORED_AT]: now + 20, [UP_TO_SEQ]: 1 });
  db.run("UPDATE generation SET completed_at_ms = 5");
  markRestored(db, { takenAtMs: now + 30, nowMs: now + 40 });
  expect(marks()).toEqual({ [TAKEN_AT]: now + 30, [RESTORED_AT]: now + 40, [UP_TO_SEQ]: 1 });
});
