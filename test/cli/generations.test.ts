// `genrouter generations`: lists parked generations, and lets the running service fail, retry or settle one.
import { afterAll, expect, test } from "bun:test";
import { parkingOf } from "../../actors/supervisor/park.ts";
import { createRuntimeStats } from "../../src/app/runtime-stats.ts";
import { openControl } from "../../src/cli/control.ts";
import { FAL } from "../generation/catalogue.ts";
import { openScene } from "../generation/fixture.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);
const ABOUT = { url: "http://127.0.0.1:1", mode: "test", version: "0.0.0", pid: process.pid } as const;
const COUNTS = { queued: 0, running: 0, live: 0, deadlines: 0, tasks: 0, writes: 0 };

/** Opens a service with one running generation, and a function that runs `genrouter generations` commands. */
const openParked = async () => {
  const dir = freshDir();
  const scene = await openScene({ routes: [FAL], dir });
  const id = await scene.occupy();
  const [found] = await scene.store.unfinished(0, 1);
  if (!found) throw new Error("no generation runs");
  const typed = async (...words: string[]) => runHere(["generations", ...words, "--data", dir]);
  return { scene, id, dir, found, typed };
};

test("generations parked lists each parked generation with its reason and hold, and exits with 0 when there is none", async () => {
  const { scene, id, dir, found, typed } = await openParked();
  expect(await typed("parked")).toMatchObject({ exit: 0, out: "none\n" });
  expect(JSON.parse((await typed("parked", "--json")).out)).toEqual({ parked: [] });
  await scene.crash();
  const again = await openScene({ routes: [FAL], dir });
  const [seen] = await again.store.unfinished(0, 1);
  await again.components.post(parkingOf(seen ?? found, "4 consecutive starts ended during its recovery", again.clock.nowMs()));
  const { parked } = JSON.parse((await typed("parked", "--json")).out);
  expect(parked).toMatchObject([{ generation_id: id, held_usd: 0.2, reason: "4 consecutive starts ended during its recovery" }]);
  const { out } = await typed("parked");
  expect(out).toContain(id);
  expect(out).toContain("4 consecutive starts");
  await again.crash();
});

test("generations fail ends a generation through the running service, which rejects invalid decisions", async () => {
  const { scene, id, dir, typed } = await openParked();
  const close = openControl(
    dir,
    await scene.admin(),
    ABOUT,
    () => undefined,
    createRuntimeStats(() => COUNTS),
  );
  expect(await typed("retry", id, "--reason", "try")).toMatchObject({
    exit: 6,
    err: expect.stringContaining("the only possible decision is fail"),
  });
  expect(await typed("fail", id)).toMatchObject({ exit: 2, err: expect.stringContaining("--reason") });
  expect(await typed("settle", id, "--attempt", "x", "--reason", "r")).toMatchObject({ exit: 2 });
  expect(await typed("fail", "gen_01k0000000000000000000", "--reason", "r")).toMatchObject({ exit: 4 });
  const failed = await typed("fail", id, "--reason", "lost at the provider", "--json");
  expect(JSON.parse(failed.out)).toMatchObject({
    generation_id: id,
    status: "failed",
    state: "failed",
    taken: true,
    cost_usd: 0,
  });
  expect(await typed("fail", id, "--reason", "again")).toMatchObject({ exit: 6, err: expect.stringContaining("has ended") });
  const [line] = await scene.store.audit(null, 1, { action: "decide-generation" });
  expect(line).toMatchObject({ actor: { kind: "command" }, detail: { decision: "fail", reason: "lost at the provider" } });
  await close();
});

test("generations fail exits with 75 and names genrouter serve when no service runs", async () => {
  const { scene, id, typed } = await openParked();
  await scene.crash();
  const { exit, err } = await typed("fail", id, "--reason", "r");
  expect(exit as number).toBe(75);
  expect(err).toContain("genrouter serve");
});
