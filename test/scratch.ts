// Directories that tests and programs fill while they run: gone when the program ends, also by a signal, unless something was found there.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const held = new Set<string>();
const killers = new Set<() => void>();
/** A process that was just killed may still be writing its last file. */
const DYING_MS = 50;
const DYING_TURNS = 10;
let isWatching = false;

export const dropScratch = (dir: string): void => {
  held.delete(dir);
  for (let turn = 0; turn < DYING_TURNS; turn += 1)
    try {
      rmSync(dir, { recursive: true, force: true });
      return;
    } catch {
      Bun.sleepSync(DYING_MS);
    }
};

const watchTheEnd = (): void => {
  if (isWatching) return;
  isWatching = true;
  process.on("SIGINT", () => process.exit(130));
  process.on("SIGTERM", () => process.exit(143));
  process.on("SIGHUP", () => process.exit(129));
  process.on("exit", () => {
    for (const kill of killers) kill();
    for (const dir of [...held]) dropScratch(dir);
  });
};

/** Called at the end, however it comes, before directories are removed: kills what still writes there, unmounts what is mounted there. */
export const killAtTheEnd = (kill: () => void): void => {
  watchTheEnd();
  killers.add(kill);
};

/** A new empty directory; its name begins with `prefix`. */
export const makeScratch = (prefix: string): string => {
  watchTheEnd();
  const dir = mkdtempSync(join(tmpdir(), prefix));
  held.add(dir);
  return dir;
};

/** It is evidence now, and stays. */
export const keepScratch = (dir: string, say?: (line: string) => void): void => {
  held.delete(dir);
  say?.(`kept for a look: ${dir}`);
};

/** Done with it: kept where something was found, removed where not. */
export const endScratch = (dir: string, isEvidence: boolean, say: (line: string) => void): void => {
  if (isEvidence) keepScratch(dir, say);
  else dropScratch(dir);
};
