// Runs one trial from an empty environment to its checks.
import type { Check } from "../../src/torture/crash/audit.ts";
import type { End } from "../../src/torture/crash/merge-reports.ts";
import type { Alerts, Firing } from "./alerts.ts";
import { openWorld, type World, type WorldPlan } from "./fixture.ts";
import { judge } from "./judge.ts";
import type { Trial } from "./trials.ts";

/** The time after an outage in which all waiting generations must end, in addition to the time of their route. */
const SETTLE_MS = 60_000;
/** A little more than the longest range of a watched rule. */
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
    { name: `the expected alerts fire: ${names.join(", ") || "none"}`, faults: missing },
    { name: "no alert fires after the recovery", faults: left.map(nameOf) },
  ];
};

const stopped = (world: World): Check => ({
  name: "a node exits with 0 after SIGTERM",
  faults: world.nodes.flatMap(({ lives }) =>
    lives.flatMap(({ end, wasSignalled, said }) =>
      wasSignalled && end?.code !== 0 ? [`ended with ${end?.signal ?? end?.code}: ${said().slice(-600)}`] : [],
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
