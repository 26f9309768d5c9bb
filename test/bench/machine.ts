// The machine of a bench: assigns cores, and measures CPU time, memory and disk.
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, sep } from "node:path";
import { dropScratch, makeScratch } from "../scratch.ts";

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // This is not Linux, or the process has ended meanwhile.
    return "";
  }
};

/** The cores that this process may use, in the kernel's notation `0-3,8`. */
const allowedCores = (): number[] =>
  (/^Cpus_allowed_list:\s*(\S+)$/m.exec(textOf("/proc/self/status"))?.[1] ?? "").split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: (to ?? 0) - (from ?? 0) + 1 }, (_, at) => (from ?? 0) + at);
  });

/** The measured side and its load have a core each. */
const [SERVER_CORE = 0, LOAD_CORE] = allowedCores();
const CORES = availableParallelism();
const canPin = LOAD_CORE !== undefined && Bun.which("taskset") !== null;
const BOTH_CORES = `${SERVER_CORE},${LOAD_CORE}`;
const pinned = (cores: number | string | undefined, words: readonly string[]): string[] =>
  canPin ? ["taskset", "-c", String(cores), ...words] : [...words];
export const onServerCore = (words: readonly string[]): string[] => pinned(SERVER_CORE, words);
export const onLoadCore = (words: readonly string[]): string[] => pinned(LOAD_CORE, words);
/** For work before or after a measurement. */
export const onBothCores = (words: readonly string[]): string[] => pinned(BOTH_CORES, words);

const move = (pid: number, cores: string): void => {
  if (canPin) Bun.spawnSync(["taskset", "-acp", cores, String(pid)], { stdout: "ignore", stderr: "ignore" });
};
/** Allows running processes of the measured side to use both cores for the warm-up, or restricts them to theirs again. */
export const spreadOut = (pids: readonly number[], isSpread: boolean): void => {
  for (const pid of pids) move(pid, isSpread ? BOTH_CORES : String(SERVER_CORE));
};
/** Moves this process and its unpinned children off the measured core. */
export const moveToLoadCore = (): void => move(process.pid, String(LOAD_CORE));

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // A child of a server has ended meanwhile.
    return [];
  }
};

/** CPU time, ns. `compiler`: the part for JavaScript compilation, which is high for new code and near 0 for warm code. */
export type Cpu = { all: number; compiler: number };

const COMPILER = "JITWorker";
const timesOf = (pid: number): Map<string, { ns: number; isCompiler: boolean }> => {
  const times = new Map<string, { ns: number; isCompiler: boolean }>();
  for (const thread of threadsOf(pid)) {
    const at = `/proc/${pid}/task/${thread}`;
    try {
      const isCompiler = readFileSync(`${at}/comm`, "utf8").trim() === COMPILER;
      times.set(thread, { ns: Number(readFileSync(`${at}/schedstat`, "utf8").split(" ")[0]), isCompiler });
    } catch {
      // The thread has ended meanwhile.
    }
  }
  return times;
};

/** Reads the CPU time of processes. @returns the time since the previous reading, without threads that have ended. */
export const openCpu = (pids: () => readonly number[]): (() => Cpu) => {
  const look = () => new Map(pids().map((pid) => [pid, timesOf(pid)]));
  let before = look();
  return () => {
    const now = look();
    const used: Cpu = { all: 0, compiler: 0 };
    for (const [pid, threads] of now)
      for (const [thread, { ns, isCompiler }] of threads) {
        const since = ns - (before.get(pid)?.get(thread)?.ns ?? 0);
        used.all += since;
        if (isCompiler) used.compiler += since;
      }
    before = now;
    return used;
  };
};

/** Below this share of a side's CPU time its code is warm. */
export const WARM_SHARE = 0.03;

/** Resident memory of a process, bytes. */
export const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;

/** The bytes that a process has written to disk. */
export const writtenBytes = (pid: number): number => Number(/^write_bytes: (\d+)$/m.exec(textOf(`/proc/${pid}/io`))?.[1] ?? 0);

/** The file system type of a directory: that of the longest mount point above it, the last of equal ones. */
const fileSystemOf = (dir: string): string => {
  const path = `${realpathSync(dir)}${sep}`;
  let [found, type] = ["", "unknown"];
  for (const line of textOf("/proc/self/mounts").split("\n")) {
    const [, written = "", itsType = ""] = line.split(" ");
    // The kernel writes a space in a name as an octal number.
    const point = written.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const isAbove = point !== "" && path.startsWith(point.endsWith(sep) ? point : `${point}${sep}`);
    if (isAbove && point.length >= found.length) [found, type] = [point, itsType];
  }
  return type;
};
/** Whether the directory is in memory, so that writes never reach a disk. */
export const isInMemory = (dir: string): boolean => ["tmpfs", "ramfs"].includes(fileSystemOf(dir));

const SYNCS = 51;
const PAGE = new Uint8Array(4_096).fill(1);
/** The median time to write and sync a page, ms. */
export const syncMs = (): number => {
  const home = makeScratch("bench-sync-");
  const file = openSync(join(home, "page"), "w");
  const took = Array.from({ length: SYNCS }, () => {
    const fromMono = performance.now();
    writeSync(file, PAGE);
    fsyncSync(file);
    return performance.now() - fromMono;
  });
  closeSync(file);
  dropScratch(home);
  return took.sort((a, b) => a - b)[SYNCS >> 1] ?? Number.NaN;
};

/** A description of the machine for a table of figures. */
export const describeMachine = (): string => {
  const disk = `${fileSystemOf(tmpdir())} with ${syncMs().toFixed(2)} ms a sync`;
  const platform = `Bun ${Bun.version}, ${process.platform} ${process.arch}`;
  return `${CORES} × ${cpus()[0]?.model ?? "unknown"}, ${disk}, ${platform}${canPin ? "" : ", not pinned"}`;
};
