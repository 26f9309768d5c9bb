// Private directories for tests; each test file drops its own when it has ended.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** A new empty directory. */
export const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "gr-cli-"));
  made.push(dir);
  return dir;
};

/** For `afterAll` of every file that made one. */
export const dropDirs = (): void => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
};
