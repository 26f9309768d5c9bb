// Tests that usage totals stay correct after a crash and after a restore between two roll-ups.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { backUp } from "../backup/fixture.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";

afterAll(dropDirs);

/** Ends `count` generations, every third of them as a failure. */
const live = async (harness: Harness, count: number): Promise<string[]> => {
  const made = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      harness.submit("sim-image-1", { prompt: n % 3 === 2 ? `[sim:refuse] ${n}` : `kite ${n}` }),
    ),
  );
  for (const { id } of made) await harness.until(id);
  return made.map(({ id }) => id);
};
const whole = async ({ store }: Harness) => {
  const rows = await store.usage({ fromDay: 0, toDay: 99_999, accountId: null, by: "account" });
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0);
  return [sum((row) => row.succeeded), sum((row) => row.failed), sum((row) => row.chargedCredits), sum((row) => row.waitMs)];
};
const recount = async ({ store }: Harness, ids: readonly string[]) => {
  const sums = [0, 0, 0, 0] as [number, number, number, number];
  for (const id of ids) {
    const one = await store.findGeneration(id);
    if (!one?.completedAtMs) throw new Error(`${id} has not ended`);
    sums[one.status === "succeeded" ? 0 : 1] += 1;
    sums[2] += one.costCredits ?? 0;
    sums[3] += one.completedAtMs - one.createdAtMs;
  }
  return sums;
};

test("rolls up usage correctly after a crash between two roll-ups, and after a restore of a backup from that moment", async () => {
  const dir = freshDir();
  let harness = await openHarness({ dir, factor: 1000 });
  const before = await live(harness, 9);
  await harness.components.post({ mutation: "roll-up-usage", limit: 5 });
  expect(await harness.store.usageBehind()).toBeGreaterThan(0);
  await harness.crash();
  const { path } = backUp(dir, freshDir());

  harness = await openHarness({ dir, factor: 1000 });
  const after = await live(harness, 6);
  await harness.components.upkeep.rollUpUsage();
  expect(await whole(harness)).toEqual(await recount(harness, [...before, ...after]));
  await harness.close();

  const to = join(freshDir(), "data");
  expect((await runHere(["backup", "restore", path, "--to", to, "--yes"])).exit as number).toBe(0);
  harness = await openHarness({ dir: to, factor: 1000 });
  await harness.components.upkeep.rollUpUsage();
  expect(await whole(harness)).toEqual(await recount(harness, before));
  await harness.close();
});

test("includes every generation that ended before the request in concurrent usage reads", async () => {
  const harness = await openHarness({ factor: 1000 });
  const first = await live(harness, 6);
  const others = live(harness, 12);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      await harness.components.upkeep.rollUpUsage();
      const [succeeded = 0, failed = 0] = await whole(harness);
      expect(succeeded + failed).toBeGreaterThanOrEqual(first.length);
    }),
  );
  const all = [...first, ...(await others)];
  await harness.components.upkeep.rollUpUsage();
  const sums = await recount(harness, all);
  expect(Math.min(...sums)).toBeGreaterThan(0);
  expect(await whole(harness)).toEqual(sums);
  await harness.close();
});
