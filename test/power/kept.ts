// Files that were kept a moment before the power went: the first of a directory, several at once, and after a kill.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../../proof/crash/audit.ts";
import { entry, run } from "../../proof/crash/processes.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { openPowerDisk } from "./disk.ts";

/** The ways, and how often each: when several come at once, whose turn it is differs. */
const WAYS = {
  "the first of a new directory": ["first", 1],
  "one of several at once": ["together", 4],
  "after a kill had left its directories": ["left", 1],
} as const;

const playOnce = async (how: string, say: (line: string) => void): Promise<string[]> => {
  const base = makeScratch("power-kept-");
  const dir = join(base, "data");
  mkdirSync(dir);
  const disk = openPowerDisk(dir, say);
  const { said } = await run([...entry(join(import.meta.dir, "keeper.ts")), dir, how], disk.plug());
  disk.cut(0, Math.random);
  const kept = [...said.matchAll(/^kept (\S+) with (.+)$/gm)];
  const faults = kept.flatMap(([, path = "", text = ""]) => {
    const found = existsSync(join(dir, path)) ? readFileSync(join(dir, path), "utf8") : "nothing";
    return found === text ? [] : [`${path}: was kept, and ${found || "an empty file"} is there`];
  });
  dropScratch(base);
  return kept.length > 0 ? faults : [`nothing was kept: ${said.slice(-500)}`];
};

export const playKept = async (say: (line: string) => void): Promise<Check[]> => {
  const checks: Check[] = [];
  for (const [name, [how, times]] of Object.entries(WAYS)) {
    const faults: string[] = [];
    for (let n = 0; n < times; n += 1) faults.push(...(await playOnce(how, say)));
    checks.push({ name: `a file that was kept outlives a power cut: ${name}`, faults });
  }
  return checks;
};
