// Measurements of one side: a generator on its core for as long as rounds are played, and the side's CPU time over exactly the time that counts.
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

/** Starts the generator of a side; nothing is sent before it is asked to measure. */
export const startMeter = (side: Side): Meter => {
  const { port, streams } = side;
  const path = join(scratch, `${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify({ port, streams } satisfies Target));
  const { hear, tell, stop } = spawnHeard(onLoadCore([process.execPath, GENERATOR, path]));
  const cpu = openCpu(() => side.pids);
  return {
    stop,
    measure: async (plan) => {
      tell(JSON.stringify(plan));
      const begun = await hear();
      if (begun !== "measuring") throw new Error(`the generator said ${begun}`);
      cpu();
      await hear();
      const used = cpu();
      const line = await hear();
      const load = JSON.parse(line) as Load;
      return { ...load, cpuUs: used.all / 1000 / load.count, compiled: used.compiler / Math.max(1, used.all) };
    },
  };
};
