// Directories of long-running programmes: they are gone when the programme ends, also when a person or a scheduler stops it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Scratch = { dir: string; drop(): void };

const made = new Set<string>();
const killers = new Set<() => void>();
let isWatching = false;

const drop = (dir: string): void => {
  // A process that was just killed may still be writing its last file.
  for (let turn = 0; turn < 10; turn += 1)
    try {
      rmSync(dir, { recursive: true, force: true });
      break;
    } catch {
      Bun.sleepSync(50);
    }
  made.delete(dir);
};

const watchTheEnd = (): void => {
  if (isWatching) return;
  isWatching = true;
  process.on("SIGINT", () => process.exit(130));
  process.on("SIGTERM", () => process.exit(143));
  process.on("SIGHUP", () => process.exit(129));
  process.on("exit", () => {
    for (const kill of killers) kill();
    for (const dir of [...made]) drop(dir);
  });
};

/** What writes to such a directory is killed before it is removed. */
export const killAtTheEnd = (kill: () => void): void => {
  watchTheEnd();
  killers.add(kill);
};

/** A new directory under the system's own for such; its name begins with `prefix`. */
export const openScratch = (prefix: string): Scratch => {
  watchTheEnd();
  const dir = mkdtempSync(join(tmpdir(), prefix));
  made.add(dir);
  return { dir, drop: () => drop(dir) };
};
