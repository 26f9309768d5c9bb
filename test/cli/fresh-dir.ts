// Private directories for tests, gone when the process ends.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];
process.on("exit", () => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
});

/** A new empty directory. */
export const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "gr-cli-"));
  made.push(dir);
  return dir;
};
