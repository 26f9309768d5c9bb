// Controls of the cluster program: nodes without fencing, and nodes that forget webhooks. If the audits do not find their damage, they
// prove nothing.
import { join } from "node:path";
import { startClient, startTroubled } from "../../src/torture/crash/load.ts";
import type { End } from "../../src/torture/crash/merge-reports.ts";
import { entry } from "../../src/torture/crash/processes.ts";
import { patchedSources } from "../crash/patched-sources.ts";
import { UNREAD_QUEUE } from "../crash/webhook-control.ts";
import { openWorld, playRound, type RoundPlan } from "./round.ts";

/** How often a node is paused past its lease and continues as if nothing had happened; one or two turns are enough. */
const TURNS = 6;
const LOAD_MS = 1000;
const STILL_MS = 300;
const AWAKE_MS = 1500;
const LOOK_MS = 30;
const ENDED_WITHIN_MS = 30_000;

/** Faults of the control of webhooks: kills of nodes whose deliveries another node has to take over. */
const CYCLES = 5;

/** Nodes that do not read the deliveries of ended nodes. */
export const playWebhookControl = async (plan: RoundPlan): Promise<End> => {
  const { finds, name, patches } = UNREAD_QUEUE;
  const genrouter = patchedSources(join(plan.dir, "sources"), patches);
  const { checks } = await playRound({ ...plan, genrouter, cycles: CYCLES });
  const found = checks.find((check) => check.name === finds)?.faults.length ?? 0;
  const check = `if ${name}, the audit finds it: ${found} faults`;
  return {
    checks: [{ name: check, faults: found > 0 ? [] : [`no fault of "${finds}"`] }],
    figures: { controlUnsent: found },
  };
};

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
    late > 0 && unowned > 0 ? [] : [`${late} late writes, ${unowned} unowned steps in ${turns} turns: the audits found nothing`];
  return {
    checks: [
      {
        name: `without fencing, the audits find writes of an ended node: ${late} writes, ${unowned} unowned steps`,
        faults,
      },
    ],
    figures: { controlLate: late, controlUnowned: unowned },
  };
};
