// What a process uses of the machine, as /proc tells: processor, memory, and how long it waited for its turn.
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

export type Usage = {
  /** Processor time since its start, ms. */
  cpuMs: number;
  residentBytes: number;
  /** Address space. */
  addressBytes: number;
  /** Time since its start in which it could have run and had no processor, ms. */
  waitedMs: number;
};

/** Linux tells processor time in hundredths of a second, to every program. */
const TICK_MS = 10;
/** The place of the user's and the system's time among what follows the name, which may hold anything. */
const [USER_AT, SYSTEM_AT] = [11, 12];

const told = (pid: number | "self", name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
};

const kilobytesIn = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
const residentPagesIn = (statm: string): number => Number(statm.split(" ")[1] ?? 0);

/** Bytes of a page, of which there are several sizes: what this process has resident, told both ways, differs by little else. */
const pageBytes = (): number => {
  const ratio = (kilobytesIn(told("self", "status"), "VmRSS") * 1024) / residentPagesIn(told("self", "statm"));
  return Number.isFinite(ratio) && ratio > 0 ? 2 ** Math.round(Math.log2(ratio)) : 4096;
};
const PAGE_BYTES = pageBytes();

/** The memory of one process, looked at again and again. */
export type MemoryMeter = {
  /** Bytes that it has resident; 0 where the system does not tell, and for a process that is gone. */
  residentBytes(): number;
  close(): void;
};

/** Seven numbers of at most twenty digits. */
const STATM_BYTES = 160;

/** Opens the shortest file that tells the memory of a process, and keeps it open: that costs a fifth of opening it for each look. */
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
        // Not a Linux, no descriptor for this look, or the process is gone already.
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

/** Undefined where the system does not tell, and for a process that is gone. */
export const usageOf = (pid: number): Usage | undefined => {
  const stat = told(pid, "stat");
  if (stat === "") return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = told(pid, "status");
  const bytesOf = (name: string) => kilobytesIn(status, name) * 1024;
  const waitedNs = Number(told(pid, "schedstat").split(" ")[1] ?? 0);
  return {
    cpuMs: (Number(fields[USER_AT]) + Number(fields[SYSTEM_AT])) * TICK_MS,
    residentBytes: bytesOf("VmRSS"),
    addressBytes: bytesOf("VmSize"),
    waitedMs: Number.isFinite(waitedNs) ? waitedNs / 1e6 : 0,
  };
};
