// Plays one trial from an empty world to the verdict.
import type { Check } from "../../src/torture/crash/audit.ts";
import type { End } from "../../src/torture/crash/merge-reports.ts";
import type { Alerts, Firing } from "./alerts.ts";
import { openWorld, type World, type WorldPlan } from "./fixture.ts";
import { judge } from "./judge.ts";
import type { Trial } from "./trials.ts";

/** After the end of an outage everything that waited has ended after so long, beside the time of its route. */
const SETTLE_MS = 60_000;
/** The longest that a watched rule looks back, and a little. */
const LOOK_BACK_MS = 11 * 60_000;
const CLEAR_MS = 10_000;
const LOOK_MS = 250;

const nameOf = ({ alert, instance }: Firing): string => `${alert} at ${instance}`;

const judgeAlerts = async (trial: Trial, world: World, alerts: Alerts): Promise<Check[]> => {
  const instances = world.nodes.map(({ url }) => new URL(url).host);
  const untilMono = performance.now() + LOOK_BACK_MS / trial.hastened + CLEAR_MS;
  let left = await alerts.now(instances);
  while (left.length > 0 && performance.now() < untilMono) {
    await Bun.sleep(LOOK_MS);
    left = await alerts.now(instances);
  }
  const fired = new Set((await alerts.since(world.beganMs, instances)).map(nameOf));
  const { names, at } = trial.alerts;
  const places = at === "first" ? instances.slice(0, 1) : instances;
  const missing = names.flatMap((alert) => {
    const silent = places.filter((instance) => !fired.has(nameOf({ alert, instance })));
    return at === "any" && silent.length < places.length ? [] : silent.map((instance) => nameOf({ alert, instance }));
  });
  return [
    { name: `the alerts fire: ${names.join(", ") || "none has to"}`, faults: missing },
    { name: "no alert fires any more when all is well again", faults: left.map(nameOf) },
  ];
};

const stopped = (world: World): Check => ({
  name: "a node that is told to stop ends with 0",
  faults: world.nodes.flatMap(({ lives }) =>
    lives.flatMap(({ end, wasTold, said }) =>
      wasTold && end?.code !== 0 ? [`ended with ${end?.signal ?? end?.code}: ${said().slice(-600)}`] : [],
    ),
  ),
});

export const playTrial = async (trial: Trial, plan: WorldPlan, alerts: Alerts): Promise<End> => {
  const world = await openWorld(plan);
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await world.close();
    isClosed = true;
  };
  try {
    const played = await trial.play(world);
    const settleMono = performance.now();
    await world.load.end(SETTLE_MS + plan.times.timeout_s * 1000);
    const settleMs = Math.round(performance.now() - settleMono);
    const { checks, figures } = await judge(trial, world);
    checks.push(...(await judgeAlerts(trial, world, alerts)));
    await close();
    return { checks: [...checks, stopped(world)], figures: { ...played, settleMs, ...figures } };
  } finally {
    await world.load.end(0);
    await close();
  }
};
