// The control of the cluster program: nodes that do not mind having been ended. Their damage must be found, or the audits are blind.
import { join } from "node:path";
import { startClient, startTroubled } from "../../src/torture/crash/load.ts";
import type { End } from "../../src/torture/crash/merge-reports.ts";
import { entry } from "../../src/torture/crash/processes.ts";
import { openWorld, type RoundPlan } from "./round.ts";

/** So often a node stands still past its lease and goes on as if nothing had happened; one or two turns are enough. */
const TURNS = 6;
const LOAD_MS = 1000;
const STILL_MS = 300;
const AWAKE_MS = 1500;
const LOOK_MS = 30;
const ENDED_WITHIN_MS = 30_000;

export const playControl = async (plan: RoundPlan): Promise<End> => {
  const { genrouter, dir, server } = plan;
  const world = await openWorld({ ...plan, genrouter: entry(join(import.meta.dir, "no-fencing.ts")) });
  const { nodes, watch, client } = world;
  const simulator = await startTroubled(genrouter, world.simulatorPlace);
  await Promise.all(nodes.map((node) => node.begin()));
  const load = await startClient(genrouter, join(dir, "client.json"), client);
  let [turns, late, unowned] = [0, 0, 0];
  for (; turns < TURNS && (late === 0 || unowned === 0); turns += 1) {
    await Bun.sleep(LOAD_MS);
    const child = nodes[turns % nodes.length]?.child();
    if (!child) throw new Error("a node is missing");
    child.kill("SIGSTOP");
    const untilMono = performance.now() + ENDED_WITHIN_MS;
    while (!(await watch.isEnded(child.pid)) && performance.now() < untilMono) await Bun.sleep(LOOK_MS);
    await Bun.sleep(STILL_MS);
    child.kill("SIGCONT");
    await Bun.sleep(AWAKE_MS);
    [late, unowned] = [(await watch.stale()).length, (await watch.unowned()).length];
  }
  await load.stop();
  for (const child of [simulator.child, ...nodes.map((node) => node.strike())]) child.kill("SIGKILL");
  await world.close();
  await server.drop(plan.name);
  const faults =
    late > 0 && unowned > 0 ? [] : [`${late} late writes, ${unowned} steps of others in ${turns} turns: the audits are blind`];
  return {
    checks: [
      {
        name: `without the check of epochs, what a node writes after its end is noticed: ${late} writes, ${unowned} steps of what was another's`,
        faults,
      },
    ],
    figures: { controlLate: late, controlUnowned: unowned },
  };
};
