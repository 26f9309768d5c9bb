// Confines itself and tries what a child may not do; prints what became of each.

import { dlopen, FFIType } from "bun:ffi";
import { writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { confine } from "../../../src/media/sandbox/confine.ts";

const calls = dlopen("libc.so.6", {
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
}).symbols;
process.on("SIGXFSZ", () => undefined);
confine({ addressBytes: 0, cpuS: 60, openFiles: 64 }, Number(process.argv[2]));

const refused = async (work: () => unknown): Promise<string> => {
  try {
    return (await work()) === -1 ? "refused" : "done";
  } catch {
    return "refused";
  }
};
const tries: [string, () => unknown][] = [
  ["socket", () => calls.socket(2, 1, 0)],
  ["process", () => Bun.spawnSync(["/bin/true"]).exitCode],
  ["file", () => writeFileSync(join(tmpdir(), `genrouter-confined-${process.pid}`), "x")],
  ["loopback", () => fetch("http://127.0.0.1:9/").catch(() => -1)],
];
for (const [name, work] of tries) writeSync(1, `${name}: ${await refused(work)}\n`);
process.exit(0);
