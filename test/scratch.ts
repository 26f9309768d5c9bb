// Temporary directories of tests and programs, removed when the program ends, also by a signal, unless they are evidence.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const held = new Set<string>();
const killers = new Set<() => void>();
/** Pause between attempts to remove a directory, because a killed process may still write its last file. */
const DYING_MS = 50;
const DYING_TURNS = 10;
let isWatching = false;

/** Removes a directory, if it exists. A process that has just been killed may still write to it, so this tries several times. */
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

/** Registers a function that runs before the directories are removed, for example to kill a writer or to unmount a disk. */
export const killAtTheEnd = (kill: () => void): void => {
  watchTheEnd();
  killers.add(kill);
};

/** Creates an empty directory whose name begins with `prefix`. */
export const makeScratch = (prefix: string): string => {
  watchTheEnd();
  const dir = mkdtempSync(join(tmpdir(), prefix));
  held.add(dir);
  return dir;
};

/** Keeps the directory as evidence. */
export const keepScratch = (dir: string, say?: (line: string) => void): void => {
  held.delete(dir);
  say?.(`kept for a look: ${dir}`);
};

/** Keeps the directory when it is evidence, and removes it otherwise. */
export const endScratch = (dir: string, isEvidence: boolean, say: (line: string) => void): void => {
  if (isEvidence) keepScratch(dir, say);
  else dropScratch(dir);
};
