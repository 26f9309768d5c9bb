// `genrouter statechart`: lists and draws the statecharts, and replays a stored generation with guards, effects and transfers.

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MACHINE_NAMES } from "../../actors/chart/machines.ts";
import { openScene } from "../generation/fixture.ts";
import { dropScratch } from "../scratch.ts";
import { runHere } from "./captured.ts";

test("statechart list shows every statechart with all of its transitions covered by tests", async () => {
  const { exit, out } = await runHere(["statechart", "list", "--json"]);
  expect(exit).toBe(0);
  const rows = JSON.parse(out) as { name: string; transitions: number; covered: number }[];
  expect(rows.map(({ name }) => name)).toEqual([...MACHINE_NAMES]);
  for (const { transitions, covered } of rows) expect(covered).toBe(transitions);
  expect((await runHere(["statechart", "list"])).out).toContain("100 %");
});

test("statechart diagram prints the diagram of the README, SVG or JSON, and writes it to a file with -o", async () => {
  const readme = readFileSync(join(import.meta.dir, "../../actors/README.md"), "utf8");
  for (const name of MACHINE_NAMES) {
    const { exit, out } = await runHere(["statechart", "diagram", name]);
    expect(exit).toBe(0);
    expect(readme).toContain(out);
  }
  expect((await runHere(["statechart", "diagram", "ledger", "--format", "svg"])).out).toMatch(/^<svg .*<\/svg>\n$/s);
  const { transitions } = JSON.parse((await runHere(["statechart", "diagram", "ledger", "--format", "json"])).out);
  expect(transitions[0]).toMatchObject({ source: "idle", event: "mutationsArrived", target: "committing", covered: true });

  const dir = mkdtempSync(join(tmpdir(), "diagram-"));
  try {
    const file = join(dir, "ledger.mmd");
    expect(await runHere(["statechart", "diagram", "ledger", "-o", file])).toMatchObject({ exit: 0, out: "" });
    expect(readme).toContain(readFileSync(file, "utf8"));
    const nowhere = await runHere(["statechart", "diagram", "ledger", "-o", join(dir, "no/where")]);
    expect([nowhere.exit, nowhere.err]).toEqual([78, expect.stringContaining("ENOENT")]);
  } finally {
    dropScratch(dir);
  }
  const unknown = await runHere(["statechart", "diagram", "teapot"]);
  expect([unknown.exit, unknown.err]).toEqual([2, expect.stringContaining("there are generation, route-health, ledger")]);
});

test("statechart replay reports a malformed generation id before a missing database", async () => {
  const { exit, err } = await runHere(["statechart", "replay", "gen_bad", "--data", "/nowhere"]);
  expect([exit as number, err]).toEqual([4, expect.stringContaining('there is no generation "gen_bad": the id is malformed')]);
});

test("statechart replay shows guards, effects and transfers of a generation with a fallback, without its prompt", async () => {
  const dir = mkdtempSync(join(tmpdir(), "replayed-"));
  try {
    const scene = await openScene({ dir });
    scene.simulator.script({ fault: "fail", endpoint: "life/fal" });
    const { id } = await scene.begin();
    await scene.until(id);
    const replayed = (...more: string[]) => runHere(["statechart", "replay", id, "--data", dir, ...more]);

    const { exit, out, err } = await replayed();
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    expect(out).toMatch(/running\.polling → running\.awaitingSlot\n\s+jobFailed: .*\(fallback\)\n/);
    expect(out).toContain("isCurrent and mayTryNextRoute: yes");
    expect(out).toContain("hold $0.30  available → held");
    expect(out).toContain("capture $0.25  held → charged");
    expect(out).toContain("release $0.05  held → available");
    expect(out).toMatch(/effects +poll 2/);
    expect(out).not.toContain("kite");

    const events = await scene.store.eventsOf(await scene.seqOf(id));
    const json = JSON.parse((await replayed("--json")).out);
    expect(json).toMatchObject({ generation: { id, status: "succeeded" }, agrees: true, faults: [] });
    expect(json.steps.slice(1).map(({ to }: { to: string }) => to)).toEqual(events.map(({ stateAfter }) => stateAfter));
    // Scripts for builds before the first release read these members.
    for (const step of json.steps)
      expect([step.told, step.movements, step.asks.map(({ type }: { type: string }) => type.replace("ask.", "effect."))]).toEqual(
        [step.description, step.transfers, step.effects.map(({ type }: { type: string }) => type)],
      );
    expect((await replayed("--format", "mermaid")).out).toContain("jobFailed (4)");
    expect((await replayed("--format", "svg")).out).toContain(`Path of ${id}`);

    const missing = await runHere(["statechart", "replay", `gen_${"0".repeat(26)}`, "--data", dir]);
    expect([missing.exit, missing.err]).toEqual([4, expect.stringContaining("there is no generation")]);
    await scene.close();
  } finally {
    dropScratch(dir);
  }
});
