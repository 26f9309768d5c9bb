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

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // A child of a server that ended between two looks.
    return [];
  }
};

const timeOf = (pid: number, isMeant: (name: () => string) => boolean): number =>
  threadsOf(pid).reduce((sum, thread) => {
    const at = `/proc/${pid}/task/${thread}`;
    try {
      if (!isMeant(() => readFileSync(`${at}/comm`, "utf8").trim())) return sum;
      return sum + Number(readFileSync(`${at}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      return sum;
    }
  }, 0);
/** Time on a core of all threads of a process, ns. Ended threads no longer count: read before they end. */
export const cpuNs = (pid: number): number => timeOf(pid, () => true);
/** The part of it that compiled JavaScript: high while code is new, next to nothing when all that is hot has been compiled. */
export const compilerNs = (pid: number): number => timeOf(pid, (name) => name() === "JITWorker");
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
