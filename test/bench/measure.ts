// Measures one side: runs its generator for all rounds, and reads the side's CPU time over exactly the measured time.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeScratch } from "../scratch.ts";
import { spawnHeard } from "./child.ts";
import type { Load, Plan, Target } from "./generator.ts";
import { onLoadCore, openCpu } from "./machine.ts";
import type { Measured, Side } from "./rounds.ts";

const GENERATOR = join(import.meta.dir, "generator.ts");
const scratch = makeScratch("bench-");

export type Meter = { measure(plan: Plan): Promise<Measured>; stop(): void };

/** Starts the generator of a side; it sends nothing before it is asked to measure. */
export const startMeter = (side: Side): Meter => {
  const { port, streams, databasePids = () => [] } = side;
  const ports = typeof port === "number" ? [port] : port;
  const path = join(scratch, `${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify({ ports, streams } satisfies Target));
  const { hear, report, stop } = spawnHeard(onLoadCore([process.execPath, GENERATOR, path]));
  const cpu = openCpu(() => side.pids);
  const database = openCpu(databasePids);
  return {
    stop,
    measure: async (plan) => {
      report(JSON.stringify(plan));
      const begun = await hear();
      if (begun !== "measuring") throw new Error(`the generator said ${begun}`);
      cpu();
      database();
      await hear();
      const [used, kept] = [cpu(), database()];
      const line = await hear();
      const load = JSON.parse(line) as Load;
      const usOf = (ns: number) => ns / 1000 / load.count;
      return { ...load, cpuUs: usOf(used.all), databaseUs: usOf(kept.all), compiled: used.compiler / Math.max(1, used.all) };
    },
  };
};
