// One measurement of one side: the generator on its core, the side's CPU time over exactly the time that counts.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeScratch } from "../scratch.ts";
import type { Load, Plan } from "./generator.ts";
import { cpuNs, onLoadCore } from "./machine.ts";
import type { Measured, Side } from "./rounds.ts";

const GENERATOR = join(import.meta.dir, "generator.ts");
const scratch = makeScratch("bench-");

export const measure = async (side: Side, plan: Omit<Plan, "port" | "streams">): Promise<Measured> => {
  const path = join(scratch, "plan.json");
  writeFileSync(path, JSON.stringify({ ...plan, port: side.port, streams: side.streams } satisfies Plan));
  const child = Bun.spawn(onLoadCore([process.execPath, GENERATOR, path]), {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const cpu = () => side.pids.reduce((sum, pid) => sum + cpuNs(pid), 0);
  let said = "";
  let fromNs: number | undefined;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    said += decoder.decode(chunk, { stream: true });
    if (fromNs === undefined && said.includes("measuring\n")) fromNs = cpu();
  }
  const usedNs = cpu() - (fromNs ?? 0);
  if ((await child.exited) !== 0 || fromNs === undefined) throw new Error(`the generator ended early: ${said.slice(-500)}`);
  const load = JSON.parse(said.trim().split("\n").at(-1) ?? "") as Load;
  return { ...load, cpuUs: usedNs / 1000 / load.count };
};
