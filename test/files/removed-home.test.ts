// A directory that files of several generations share is not removed while one moves in: its name could be made anew and lost with the power.
import { expect, test } from "bun:test";
import { join } from "node:path";

test("a failed generation does not take the directory from under a file that is being kept", () => {
  const script = join(import.meta.dir, "held-sync.ts");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "test", script], { stdout: "ignore", stderr: "pipe" });
  expect([exitCode, exitCode === 0 ? "" : stderr.toString()]).toEqual([0, ""]);
});
