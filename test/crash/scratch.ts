// Directories that a programme fills while it runs: taken away when it is ended by a signal, kept where something was found.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killAll } from "../../proof/crash/processes.ts";

const held = new Set<string>();
/** Between the kill of the processes and the second look: a dying one may make one more file. */
const DYING_MS = 100;

/** An empty directory, whose name begins with `prefix`. */
export const makeScratch = (prefix: string): string => {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  held.add(dir);
  return dir;
};

/** It is evidence now, and no signal takes it away. */
export const keepScratch = (dir: string): void => void held.delete(dir);

export const dropScratch = (dir: string): void => {
  held.delete(dir);
  rmSync(dir, { recursive: true, force: true });
};

const dropAll = (): void => {
  for (const dir of held)
    try {
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // A dying process still writes there; the second look sees to it.
    }
};

/** Ends this programme at SIGINT and SIGTERM with all its processes and directories; a signal alone would leave them. */
export const endAtSignals = (): void => {
  const end = (exit: 130 | 143) => () => {
    killAll();
    // After the other things of an exit, which unmount what may be mounted in them.
    process.on("exit", () => {
      dropAll();
      Bun.sleepSync(DYING_MS);
      dropAll();
    });
    process.exit(exit);
  };
  process.on("SIGINT", end(130));
  process.on("SIGTERM", end(143));
};
