// The machine of a bench: which core does what, and how much CPU time a process has had.
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

/** The side that is measured has a core to itself, and so has what loads it. */
const SERVER_CORE = 0;
const LOAD_CORE = 1;
const canPin = availableParallelism() > 1 && Bun.which("taskset") !== null;
const pinned = (core: number, words: readonly string[]): string[] =>
  canPin ? ["taskset", "-c", String(core), ...words] : [...words];
export const onServerCore = (words: readonly string[]): string[] => pinned(SERVER_CORE, words);
export const onLoadCore = (words: readonly string[]): string[] => pinned(LOAD_CORE, words);

/** Lets running processes of the measured side use both cores, to be warm sooner, or keeps them to their own again. */
export const spreadOut = (pids: readonly number[], isSpread: boolean): void => {
  if (!canPin) return;
  const cores = isSpread ? `${SERVER_CORE},${LOAD_CORE}` : String(SERVER_CORE);
  for (const pid of pids) Bun.spawnSync(["taskset", "-acp", cores, String(pid)], { stdout: "ignore", stderr: "ignore" });
};

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
export const writtenBytes = (pid: number): number =>
  Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0);

/** What a table of figures says of where they were taken. */
export const describeMachine = (): string =>
  `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown"}, Bun ${Bun.version}, ${process.platform} ${process.arch}${canPin ? "" : ", not pinned"}`;
