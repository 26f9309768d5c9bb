// Shared directories are not removed while a file is being kept in them.
// Otherwise the recreated name of the directory could be lost in a power failure.
import { expect, test } from "bun:test";
import { join } from "node:path";

test("does not remove the directory of a file that is being kept when another generation fails", () => {
  const script = join(import.meta.dir, "held-sync.ts");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "test", script], { stdout: "ignore", stderr: "pipe" });
  expect([exitCode, exitCode === 0 ? "" : stderr.toString()]).toEqual([0, ""]);
});
