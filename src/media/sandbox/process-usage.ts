// Reads CPU time, memory and scheduling delay of a process from /proc.
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

export type Usage = {
  /** CPU time since its start, ms. */
  cpuMs: number;
  residentBytes: number;
  /** Virtual address space. */
  addressBytes: number;
  /** Time since its start in which the process was runnable but had no CPU, ms. */
  waitedMs: number;
};

/** Linux reports CPU time in hundredths of a second. */
const TICK_MS = 10;
/** Indexes of user and system time among the fields after the process name, which may contain any character. */
const [USER_AT, SYSTEM_AT] = [11, 12];

const labelOf = (pid: number | "self", name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
};

const kilobytesIn = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
const residentPagesIn = (statm: string): number => Number(statm.split(" ")[1] ?? 0);

/**
 * Page size in bytes, derived from the resident memory of this process in `status` and `statm`. The rounding removes small
 * differences.
 */
const pageBytes = (): number => {
  const ratio = (kilobytesIn(labelOf("self", "status"), "VmRSS") * 1024) / residentPagesIn(labelOf("self", "statm"));
  return Number.isFinite(ratio) && ratio > 0 ? 2 ** Math.round(Math.log2(ratio)) : 4096;
};
const PAGE_BYTES = pageBytes();

/** Repeatedly measures the memory of one process. */
export type MemoryMeter = {
  /** Resident bytes; 0 if the system does not report them or the process has exited. */
  residentBytes(): number;
  close(): void;
};

/** Seven numbers of at most 20 digits. */
const STATM_BYTES = 160;

/** Keeps `statm`, the shortest file with the memory of a process, open. A read costs one fifth of opening the file each time. */
export const createMemoryMeter = (pid: number): MemoryMeter => {
  const line = Buffer.alloc(STATM_BYTES);
  let file: number | undefined;
  let isClosed = false;
  return {
    residentBytes: () => {
      if (isClosed) return 0;
      try {
        file ??= openSync(`/proc/${pid}/statm`, "r");
        return residentPagesIn(line.toString("latin1", 0, readSync(file, line, 0, STATM_BYTES, 0))) * PAGE_BYTES;
      } catch {
        // The system is not Linux, no file descriptor is available, or the process has exited.
        return 0;
      }
    },
    close: () => {
      isClosed = true;
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
};

/** Undefined if the system does not report usage or the process has exited. */
export const usageOf = (pid: number): Usage | undefined => {
  const stat = labelOf(pid, "stat");
  if (stat === "") return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = labelOf(pid, "status");
  const bytesOf = (name: string) => kilobytesIn(status, name) * 1024;
  const waitedNs = Number(labelOf(pid, "schedstat").split(" ")[1] ?? 0);
  return {
    cpuMs: (Number(fields[USER_AT]) + Number(fields[SYSTEM_AT])) * TICK_MS,
    residentBytes: bytesOf("VmRSS"),
    addressBytes: bytesOf("VmSize"),
    waitedMs: Number.isFinite(waitedNs) ? waitedNs / 1e6 : 0,
  };
};
