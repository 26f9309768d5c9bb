// Load of a crash run: its accounts, the client process and the faulty simulator.
import { writeFileSync } from "node:fs";
import type { ClientPlan } from "./client.ts";
import { type SimulatorPlace, type SimulatorProcess, startSimulator } from "./crash-fixture.ts";
import { type Genrouter, start } from "./processes.ts";
import { PROVIDER_FAULT_PLAN } from "./provider-fault-plan.ts";

/** Credits of the accounts. Every tenth has few and runs out; each round adds a small amount. */
const PLENTY = 1_000_000;
export const LITTLE = [300, 100] as const;
export const TENANTS = [...Array<number>(18).fill(PLENTY), ...LITTLE];

/** Starts the client with its plan in a file. */
export const startClient = async (genrouter: Genrouter, path: string, plan: ClientPlan) => {
  writeFileSync(path, JSON.stringify(plan));
  const child = start([...genrouter, "torture-client", path]);
  await child.hears(/client of/);
  return {
    stop: async () => {
      child.kill("SIGTERM");
      const { code } = await child.ended;
      if (code !== 0) throw new Error(`the client ended with ${code}:\n${child.output()}`);
    },
  };
};

/** Starts a simulator of faulty providers. */
export const startTroubled = async (genrouter: Genrouter, place: SimulatorPlace): Promise<SimulatorProcess> => {
  const simulator = await startSimulator(genrouter, place);
  await simulator.rule(...PROVIDER_FAULT_PLAN);
  return simulator;
};

/** Kills the simulator and restarts it with the same log. */
export const restarted = async (
  simulator: SimulatorProcess,
  genrouter: Genrouter,
  place: SimulatorPlace,
): Promise<SimulatorProcess> => {
  simulator.child.kill("SIGKILL");
  await simulator.child.ended;
  return startTroubled(genrouter, place);
};
