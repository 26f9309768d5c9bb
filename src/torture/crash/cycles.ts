// Crash cycles: client load, kills at random moments, and checks of the stored data.
import { storedLeaf } from "../../../actors/generation/snapshot.ts";
import { chance } from "../../simulator/fault-script.ts";
import {
  reading,
  type ServicePlace,
  type SimulatorPlace,
  type SimulatorProcess,
  spawnService,
  startService,
  type Tenant,
} from "./crash-fixture.ts";
import { restarted } from "./load.ts";
import type { Child, Genrouter } from "./processes.ts";
import { createProviderLog } from "./provider-log.ts";
import { attemptOf } from "./read-store.ts";
import { originOf } from "./workload.ts";

export type Figures = {
  cycles: number;
  kills: number;
  /** Kills that found an attempt in `sending`, and the number of such attempts. */
  killsInSending: number;
  attemptsInSending: number;
  /** SIGTERM, followed by SIGKILL after a short time. */
  killsInDrain: number;
  /** SIGTERM under load, without a kill. */
  completedDrains: number;
  longestDrainMs: number;
  bootKills: number;
  /** From the start of a process to the end of its recovery. */
  longestBootMs: number;
  simulatorKills: number;
  /** By state, for example `killsAt.running.polling`: kills that found a generation there. */
  [killsAt: `killsAt.${string}`]: number;
};

export type CyclesPlan = {
  seed: number;
  genrouter: Genrouter;
  place: ServicePlace;
  simulatorPlace: SimulatorPlace;
  tenants: readonly Tenant[];
};

/** Shares of the cycles. */
const DRAINED = 0.2;
const BOOT_KILLED = 0.1;
const SIMULATOR_KILLED = 0.05;
/** From the start of the load to the kill; from SIGTERM to the kill; from the start of a process to the kill. */
const LOAD_MS = [20, 2000] as const;
const DRAIN_MS = [0, 200] as const;
const BOOT_MS = [10, 300] as const;
/** A complete drain takes at most this long under the faults of these tests; the service's own limit is 25 s. */
const WHOLE_DRAIN_MS = 20_000;
const PAGE = 1000;
const SENDING = "running.submitting.sending";

export const createCycles = (plan: CyclesPlan) => {
  const { place, tenants, genrouter } = plan;
  const roll = chance(plan.seed);
  const between = ([from, to]: readonly [number, number]) => from + roll() * (to - from);
  const figures: Figures = {
    cycles: 0,
    kills: 0,
    killsInSending: 0,
    attemptsInSending: 0,
    killsInDrain: 0,
    completedDrains: 0,
    longestDrainMs: 0,
    bootKills: 0,
    longestBootMs: 0,
    simulatorKills: 0,
  };
  const faults: { unwritten: string[]; drains: string[] } = { unwritten: [], drains: [] };
  const submissions = createProviderLog(plan.simulatorPlace.log);

  /**
   * With the service stopped: counts the open generations by their state, and checks that every submission at the provider was on
   * disk before.
   */
  const sample = (): Promise<Map<string, number>> =>
    reading(place.dir, async (reads) => {
      const inState = new Map<string, number>();
      for (let afterSeq = 0; ; ) {
        const page = await reads.unfinished(afterSeq, PAGE);
        for (const { snapshot } of page) {
          const state = storedLeaf(snapshot) ?? "unreadable";
          inState.set(state, (inState.get(state) ?? 0) + 1);
        }
        const last = page.at(-1);
        if (!last || page.length < PAGE) break;
        afterSeq = last.seq;
      }
      for (const line of submissions.fresh()) {
        const origin = originOf(line.input);
        const accountSeq = tenants[origin?.account ?? -1]?.accountSeq ?? -1;
        const known = origin && (await reads.generationByKey(accountSeq, origin.key));
        const attempt = known && attemptOf(await reads.attemptsOf(known.record.seq), line);
        if (!attempt || attempt.sentAtMs === null)
          faults.unwritten.push(`${JSON.stringify(origin)} ${line.at}: not on disk when it arrived`);
      }
      return inState;
    });

  const killSimulator = async (simulator: SimulatorProcess): Promise<SimulatorProcess> => {
    figures.simulatorKills += 1;
    return restarted(simulator, genrouter, plan.simulatorPlace);
  };

  const kill = async (child: Child) => {
    child.kill("SIGKILL");
    const { code, signal } = await child.ended;
    // A drain may have ended before the kill; any other exit is a fault of the service.
    if (signal !== "SIGKILL" && code !== 0)
      throw new Error(`the service ended by itself with ${code}:\n${child.output().slice(-3000)}`);
    figures.kills += 1;
    const inState = await sample();
    for (const state of inState.keys()) figures[`killsAt.${state}`] = (figures[`killsAt.${state}`] ?? 0) + 1;
    const inSending = inState.get(SENDING) ?? 0;
    figures.killsInSending += inSending > 0 ? 1 : 0;
    figures.attemptsInSending += inSending;
  };

  const boot = async (): Promise<Child> => {
    const beganMono = performance.now();
    const { child } = await startService(genrouter, place);
    figures.longestBootMs = Math.max(figures.longestBootMs, Math.round(performance.now() - beganMono));
    return child;
  };

  /** One run of the service until its kill. Returns the simulator that runs afterwards. */
  const play = async (before: SimulatorProcess): Promise<SimulatorProcess> => {
    const child = await boot();
    await Bun.sleep(between(LOAD_MS));
    const simulator = roll() < SIMULATOR_KILLED ? await killSimulator(before) : before;
    if (roll() < DRAINED) {
      child.kill("SIGTERM");
      figures.killsInDrain += 1;
      await Bun.sleep(between(DRAIN_MS));
    }
    await kill(child);
    if (roll() < BOOT_KILLED) {
      const booting = spawnService(genrouter, place);
      await Bun.sleep(between(BOOT_MS));
      await kill(booting);
      figures.bootKills += 1;
    }
    figures.cycles += 1;
    return simulator;
  };

  /** One run with a complete drain under load. It must exit with 0 in time and leave no attempt in `sending`. */
  const drain = async (): Promise<void> => {
    const child = await boot();
    await Bun.sleep(between(LOAD_MS));
    const beganMono = performance.now();
    child.kill("SIGTERM");
    const tooLate = setTimeout(() => child.kill("SIGKILL"), WHOLE_DRAIN_MS);
    const { code, signal } = await child.ended;
    clearTimeout(tooLate);
    figures.completedDrains += 1;
    figures.longestDrainMs = Math.max(figures.longestDrainMs, Math.round(performance.now() - beganMono));
    if (code !== 0) faults.drains.push(`ended with ${signal ?? code}: ${child.output().slice(-1000)}`);
    const inSending = (await sample()).get(SENDING) ?? 0;
    if (inSending > 0) faults.drains.push(`${inSending} submissions were left unconfirmed`);
  };

  return { figures, faults, submissions, play, drain };
};
