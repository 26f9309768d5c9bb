// Temporary directories for tests; each test file removes its own directories when it ends.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropScratch } from "../scratch.ts";

const made: string[] = [];

/** Creates an empty directory. */
export const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "gr-cli-"));
  made.push(dir);
  return dir;
};

/** Removes the directories of this file; for `afterAll`. */
export const dropDirs = (): void => {
  for (const dir of made.splice(0)) dropScratch(dir);
};
