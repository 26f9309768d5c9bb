// Confines itself, tries every forbidden operation and prints the results.

import { dlopen, FFIType } from "bun:ffi";
import { openSync, renameSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { confine } from "../../../src/media/sandbox/confine.ts";

const calls = dlopen("libc.so.6", {
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  kill: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  syscall: { args: [FFIType.i64, FFIType.i64, FFIType.i64, FFIType.i64], returns: FFIType.i64 },
}).symbols;
const parent = Number(process.argv[2]);
/** System call numbers of x86-64 and of all other architectures. */
const number = (x64: number, other: number): number => (process.arch === "x64" ? x64 : other);
const there = join(tmpdir(), `genrouter-confined-${process.pid}`);
writeFileSync(there, "x");
process.on("SIGXFSZ", () => undefined);
confine({ addressBytes: 0, cpuS: 60, openFiles: 64 }, parent);

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
  ["signal", () => calls.kill(parent, 0)],
  ["signal to a thread", () => Number(calls.syscall(number(234, 131), parent, parent, 0))],
  ["handle of a process", () => Number(calls.syscall(434, parent, 0, 0))],
  ["memory of the service", () => openSync(`/proc/${parent}/mem`, "r+")],
  ["file", () => writeFileSync(`${there}-new`, "x")],
  ["file that is there", () => openSync(there, "r+")],
  ["length of a file", () => truncateSync(there)],
  ["name of a file", () => renameSync(there, `${there}-moved`)],
  ["removal of a file", () => rmSync(there)],
  ["loopback", () => fetch("http://127.0.0.1:9/").catch(() => -1)],
];
for (const [name, work] of tries) writeSync(1, `${name}: ${await refused(work)}\n`);
process.exit(0);
