// Files that were stored just before a power cut: the first of a directory, several at once, and after a kill.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import { entry, run, start } from "../../src/torture/crash/processes.ts";
import { endScratch, makeScratch } from "../scratch.ts";
import { openPowerDisk } from "./disk.ts";

/** The cases, and the repetitions of each, because the order of concurrent files varies. */
const WAYS = {
  "the first file of a new directory": ["first", 1],
  "one of several files at once": ["together", 4],
  "a file in directories that a killed process left": ["left", 1],
} as const;

const playOnce = async (how: string, say: (line: string) => void): Promise<string[]> => {
  const base = makeScratch("power-kept-");
  const dir = join(base, "data");
  mkdirSync(dir);
  const disk = openPowerDisk(dir, say);
  const { output: said } = await run([...entry(join(import.meta.dir, "keeper.ts")), dir, how], disk.plug());
  disk.cut(0, Math.random);
  const kept = [...said.matchAll(/^kept (\S+) with (.+)$/gm)];
  const faults = kept.flatMap(([, path = "", text = ""]) => {
    const found = existsSync(join(dir, path)) ? readFileSync(join(dir, path), "utf8") : "nothing";
    return found === text ? [] : [`${path}: was stored, but the disk has ${found || "an empty file"}`];
  });
  if (kept.length === 0) faults.push(`no file was stored: ${said.slice(-500)}`);
  endScratch(base, faults.length > 0, say);
  return faults;
};

const EARLY_FILES = 100;
const EARLY_BYTES = 100_000;

/**
 * Kills while the shim still copies the existing files: the process has written nothing, and all files must be unchanged.
 * @returns undefined if the kill came too late.
 */
const playEarly = async (say: (line: string) => void): Promise<string[] | undefined> => {
  const base = makeScratch("power-early-");
  const dir = join(base, "data");
  mkdirSync(dir);
  const names = Array.from({ length: EARLY_FILES }, (_, n) => `${n}.db`);
  for (const name of names) writeFileSync(join(dir, name), name.padEnd(EARLY_BYTES, "x"));
  const disk = openPowerDisk(dir, say);
  const env = disk.plug();
  const child = start([...entry(join(import.meta.dir, "keeper.ts")), dir, "first"], env);
  let hasEnded = false;
  void child.ended.then(() => {
    hasEnded = true;
  });
  while (!hasEnded && !existsSync(join(`${dir}.synced`, "f1"))) await Bun.sleep(0);
  child.kill("SIGKILL");
  await child.ended;
  const { isEarly } = disk.cut(0, Math.random);
  const faults = names
    .filter((name) => !existsSync(join(dir, name)) || readFileSync(join(dir, name), "utf8") !== name.padEnd(EARLY_BYTES, "x"))
    .map((name) => `${name}: has changed`);
  endScratch(base, isEarly && faults.length > 0, say);
  return isEarly ? faults : undefined;
};

/** If the copy was complete before the kill, it was an ordinary cut, which shows nothing here: the case is repeated. */
const EARLY_TRIES = 20;
const untilEarly = async (say: (line: string) => void): Promise<string[]> => {
  for (let n = 0; n < EARLY_TRIES; n += 1) {
    const faults = await playEarly(say);
    if (faults) return faults;
  }
  return [`the copy was complete before the kill in ${EARLY_TRIES} tries`];
};

export const playKept = async (say: (line: string) => void): Promise<Check[]> => {
  const checks: Check[] = [];
  for (const [name, [how, times]] of Object.entries(WAYS)) {
    const faults: string[] = [];
    for (let n = 0; n < times; n += 1) faults.push(...(await playOnce(how, say)));
    checks.push({ name: `a stored file survives a power cut: ${name}`, faults });
  }
  checks.push({ name: "a power cut before the process starts its own code changes nothing", faults: await untilEarly(say) });
  return checks;
};
