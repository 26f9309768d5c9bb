// The random crashes: load from a client, kills at any moment, and after each a look at what lies on disk.
import { readFileSync } from "node:fs";
import type { Submission } from "../../src/simulator/log.ts";
import { chance } from "../../src/simulator/rules.ts";
import { MISCHIEF } from "./mischief.ts";
import { originOf } from "./orders.ts";
import type { Child, Genrouter } from "./processes.ts";
import { attemptBehind } from "./stored.ts";
import {
  reading,
  type ServicePlace,
  type SimulatorProcess,
  spawnService,
  startService,
  startSimulator,
  type Tenant,
} from "./world.ts";

export type Figures = {
  kills: number;
  /** Kills that found an attempt in `sending`, and how many attempts they found so. */
  killsInSending: number;
  attemptsInSending: number;
  drains: number;
  bootKills: number;
  simulatorKills: number;
};

export type CyclesPlan = {
  cycles: number;
  seed: number;
  genrouter: Genrouter;
  place: ServicePlace;
  simulatorPlace: { port: number; speed: number; log: string };
  tenants: readonly Tenant[];
  say: (line: string) => void;
};

/** Shares of the cycles. */
const DRAINED = 0.2;
const BOOT_KILLED = 0.1;
const SIMULATOR_KILLED = 0.05;
/** From the first moment of the load to the kill; from the signal of a drain; from the start of a process. */
const LOAD_MS = [20, 1000] as const;
const DRAIN_MS = [0, 200] as const;
const BOOT_MS = [10, 300] as const;
/** Every tenth life is long enough for the route time of the impatient model to run out; a restart puts that off. */
const LONG_LIFE_MS = 3500;
const isLongLife = (cycle: number) => cycle % 10 === 5;

export const submissionsIn = (logPath: string): Submission[] => {
  const text = readFileSync(logPath, "utf8");
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .flatMap((line) => (line.startsWith('{"type":"submission"') ? [JSON.parse(line) as Submission] : []));
};

export const runCycles = async (
  plan: CyclesPlan,
  first: SimulatorProcess,
): Promise<{ figures: Figures; unwritten: string[]; simulator: SimulatorProcess }> => {
  const { place, tenants, genrouter } = plan;
  const roll = chance(plan.seed);
  const between = ([from, to]: readonly [number, number]) => from + roll() * (to - from);
  const figures: Figures = { kills: 0, killsInSending: 0, attemptsInSending: 0, drains: 0, bootKills: 0, simulatorKills: 0 };
  const unwritten: string[] = [];
  let simulator = first;
  let checked = 0;

  /** With the service dead: how many attempts were out, and that every submission the provider has was on disk before. */
  const look = async () => {
    const fresh = submissionsIn(plan.simulatorPlace.log).slice(checked);
    checked += fresh.length;
    await reading(place.dir, async (reads) => {
      let inSending = 0;
      for (let afterSeq = 0; ; ) {
        const page = await reads.unfinished(afterSeq, 1000);
        // The row of an attempt that is being confirmed says `sending` too; its machine's state does not.
        inSending += page.filter(({ snapshot }) => snapshot?.includes('{"submitting":"sending"}')).length;
        const last = page.at(-1);
        if (!last || page.length < 1000) break;
        afterSeq = last.seq;
      }
      figures.killsInSending += inSending > 0 ? 1 : 0;
      figures.attemptsInSending += inSending;
      for (const line of fresh) {
        const origin = originOf(line.input);
        const accountSeq = tenants[origin?.account ?? -1]?.accountSeq ?? -1;
        const known = origin && (await reads.generationByKey(accountSeq, origin.key));
        const attempt = known && attemptBehind(await reads.attemptsOf(known.record.seq), line);
        if (!attempt || attempt.sentAtMs === null)
          unwritten.push(`${JSON.stringify(origin)} ${line.at}: not on disk when it arrived`);
      }
    });
  };

  const killSimulator = async () => {
    simulator.child.kill("SIGKILL");
    await simulator.child.ended;
    simulator = await startSimulator(genrouter, plan.simulatorPlace);
    await simulator.rule(...MISCHIEF);
    figures.simulatorKills += 1;
  };

  const kill = async (child: Child) => {
    child.kill("SIGKILL");
    const { code, signal } = await child.ended;
    // A drain may have been over before the kill; any other end is a fault of the service.
    if (signal !== "SIGKILL" && code !== 0)
      throw new Error(`the service ended by itself with ${code}:\n${child.said().slice(-3000)}`);
    figures.kills += 1;
    await look();
  };

  for (let cycle = 1; cycle <= plan.cycles; cycle += 1) {
    const { child } = await startService(genrouter, place);
    await Bun.sleep(between(LOAD_MS) + (isLongLife(cycle) ? LONG_LIFE_MS : 0));
    if (roll() < SIMULATOR_KILLED) await killSimulator();
    if (roll() < DRAINED) {
      child.kill("SIGTERM");
      figures.drains += 1;
      await Bun.sleep(between(DRAIN_MS));
    }
    await kill(child);
    if (roll() < BOOT_KILLED) {
      const booting = spawnService(genrouter, place);
      await Bun.sleep(between(BOOT_MS));
      await kill(booting);
      figures.bootKills += 1;
    }
    if (cycle % 10 === 0 || cycle === plan.cycles)
      plan.say(`cycle ${cycle}: ${figures.kills} kills, ${figures.killsInSending} of them into sending, ${checked} submissions`);
  }
  return { figures, unwritten, simulator };
};
