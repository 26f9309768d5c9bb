// The machine of a bench: which core does what, and how much CPU time a process has had.
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, sep } from "node:path";
import { dropScratch, makeScratch } from "../scratch.ts";

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not a Linux, or what it is about has ended between two looks.
    return "";
  }
};

/** `0-3,8` in words of the kernel: the cores that this process may use. */
const allowedCores = (): number[] =>
  (/^Cpus_allowed_list:\s*(\S+)$/m.exec(textOf("/proc/self/status"))?.[1] ?? "").split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: (to ?? 0) - (from ?? 0) + 1 }, (_, at) => (from ?? 0) + at);
  });

/** The side that is measured has a core to itself, and so has what loads it. */
const [SERVER_CORE = 0, LOAD_CORE] = allowedCores();
const CORES = availableParallelism();
const canPin = LOAD_CORE !== undefined && Bun.which("taskset") !== null;
const BOTH_CORES = `${SERVER_CORE},${LOAD_CORE}`;
const pinned = (cores: number | string | undefined, words: readonly string[]): string[] =>
  canPin ? ["taskset", "-c", String(cores), ...words] : [...words];
export const onServerCore = (words: readonly string[]): string[] => pinned(SERVER_CORE, words);
export const onLoadCore = (words: readonly string[]): string[] => pinned(LOAD_CORE, words);
/** For what runs by itself, before or after what is measured. */
export const onBothCores = (words: readonly string[]): string[] => pinned(BOTH_CORES, words);

const move = (pid: number, cores: string): void => {
  if (canPin) Bun.spawnSync(["taskset", "-acp", cores, String(pid)], { stdout: "ignore", stderr: "ignore" });
};
/** Lets running processes of the measured side use both cores, to be warm sooner, or keeps them to their own again. */
export const spreadOut = (pids: readonly number[], isSpread: boolean): void => {
  for (const pid of pids) move(pid, isSpread ? BOTH_CORES : String(SERVER_CORE));
};
/** Takes this process, and what it starts without saying where, off the core of what is measured. */
export const moveToLoadCore = (): void => move(process.pid, String(LOAD_CORE));

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // A child of a server that ended between two looks.
    return [];
  }
};

/** CPU time, ns. `compiler`: the part of it that compiled JavaScript, high while code is new, next to nothing when all that is hot has been compiled. */
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
      // It ended between two looks.
    }
  }
  return times;
};

/** Reads what processes use. @returns the time on a core since the reading before; threads that ended meanwhile no longer count. */
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

/** What a process has had written to disks, bytes. */
export const writtenBytes = (pid: number): number => Number(/^write_bytes: (\d+)$/m.exec(textOf(`/proc/${pid}/io`))?.[1] ?? 0);

/** The type of the file system that a directory is in: that of the longest mount point above it, the latest of those. */
const fileSystemOf = (dir: string): string => {
  const path = `${realpathSync(dir)}${sep}`;
  let [found, type] = ["", "unknown"];
  for (const line of textOf("/proc/self/mounts").split("\n")) {
    const [, written = "", itsType = ""] = line.split(" ");
    // A blank in a name is written as an octal number.
    const point = written.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const isAbove = point !== "" && path.startsWith(point.endsWith(sep) ? point : `${point}${sep}`);
    if (isAbove && point.length >= found.length) [found, type] = [point, itsType];
  }
  return type;
};
/** Whether what is written there never reaches a disk. */
export const isInMemory = (dir: string): boolean => ["tmpfs", "ramfs"].includes(fileSystemOf(dir));

const SYNCS = 51;
const PAGE = new Uint8Array(4_096).fill(1);
/** The median of how long it takes to write a page and to sync it, ms. */
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

/** What a table of figures says of where they were taken. */
export const describeMachine = (): string => {
  const disk = `${fileSystemOf(tmpdir())} with ${syncMs().toFixed(2)} ms a sync`;
  const platform = `Bun ${Bun.version}, ${process.platform} ${process.arch}`;
  return `${CORES} × ${cpus()[0]?.model ?? "unknown"}, ${disk}, ${platform}${canPin ? "" : ", not pinned"}`;
};
