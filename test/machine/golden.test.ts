// Tests that stored snapshots can be restored: one golden snapshot of each state of each released version.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createActor } from "xstate";
import { EFFECT_ON_ENTRY, generationMachine } from "../../actors/generation/machine.ts";
import { deadlineOf, effectsOnRestore, freeze, leafOf, SNAPSHOT_VERSION, thaw } from "../../actors/generation/snapshot.ts";
import { explore, PLANS } from "./explore.ts";

/** A frozen snapshot, and the effects and deadline of the restored generation. */
type Golden = { leaf: string; plan: number; frozen: string; asks: unknown; deadline: unknown };

const fileOf = (version: number) => join(import.meta.dir, `golden-v${version}.json`);

const firstOfEachLeaf = (): Golden[] => {
  const found = new Map<string, Golden>();
  for (const [at, plan] of PLANS.entries())
    for (const { snapshot } of explore(plan).values()) {
      const leaf = leafOf(snapshot);
      if (snapshot.status !== "active" || found.has(leaf)) continue;
      found.set(leaf, {
        leaf,
        plan: at,
        frozen: freeze(snapshot),
        asks: effectsOnRestore(snapshot),
        deadline: deadlineOf(snapshot),
      });
    }
  return [...found.values()].sort((a, b) => (a.leaf < b.leaf ? -1 : 1));
};

if (process.env.UPDATE === "1" && !existsSync(fileOf(SNAPSHOT_VERSION)))
  writeFileSync(fileOf(SNAPSHOT_VERSION), `${JSON.stringify(firstOfEachLeaf(), null, 1)}\n`);

for (let version = 1; version <= SNAPSHOT_VERSION; version += 1) {
  const golden = JSON.parse(readFileSync(fileOf(version), "utf8")) as Golden[];

  test(`version ${version} has a golden snapshot of every persisted state`, () => {
    expect(golden.map(({ leaf }) => leaf)).toEqual(Object.keys(EFFECT_ON_ENTRY).sort());
  });

  test.each(golden)(
    `version ${version}: restores a generation in $leaf with the same state, effects and deadline`,
    ({ leaf, plan, frozen, asks, deadline }) => {
      const snapshot = thaw(frozen, PLANS[plan] ?? []);
      const actor = createActor(generationMachine, {
        input: { plan: PLANS[plan] ?? [], waitEndsAtMs: 0, collectMs: 0 },
        snapshot,
      }).start();
      const restored = actor.getSnapshot();
      expect(leafOf(restored) as string).toBe(leaf);
      expect(effectsOnRestore(restored)).toEqual(asks as never);
      expect(deadlineOf(restored)).toEqual(deadline as never);
      expect(freeze(restored)).toBe(frozen);
    },
  );
}

test("rejects a snapshot of an unknown version or state", () => {
  const [plan = []] = PLANS;
  expect(() => thaw(JSON.stringify({ v: SNAPSHOT_VERSION + 1, value: "queued", memory: {} }), plan)).toThrow("version");
  expect(() => thaw(JSON.stringify({ v: SNAPSHOT_VERSION, value: { running: "nowhere" }, memory: {} }), plan)).toThrow();
});

test("bundles the statecharts for a browser without node or Bun imports", async () => {
  const built = await Bun.build({
    entrypoints: [
      "generation/snapshot",
      "supervisor/supervisor",
      "replay/replay",
      "replay/playground",
      "chart/machines",
      "chart/svg",
    ].map((name) => join(import.meta.dir, `../../actors/${name}.ts`)),
    target: "browser",
  });
  expect(built.success).toBe(true);
  for (const output of built.outputs)
    expect(await output.text()).not.toMatch(/from\s*"(node|bun):|require\("(node|bun):|\bBun\./);
});
