// Samples the resident memory of processes and their children from /proc; on other systems it returns nothing.
import { existsSync, readdirSync, readFileSync } from "node:fs";

const MIB = 1024 * 1024;
const EVERY_MS = 50;

const wordsOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
};
/** Between fork and exec a child still is a copy of its parent and shares its memory. */
const isStillParent = (child: number, parent: number): boolean => wordsOf(child) === wordsOf(parent);
const residentOf = (pid: number): number => {
  try {
    const [, kib = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
};
/** All descendants of a process. */
export const childrenOf = (pid: number): number[] => {
  try {
    const own = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return own.flatMap((child) => [child, ...childrenOf(child)]);
  } catch {
    return [];
  }
};

export type Resident = { beganMb: number; peakMb: number; childPeakMb: number; children: number };
export type Watch = { stop(): Resident[] };

/**
 * Starts sampling processes. @param childrenOfOwn the children to sample if this process watches itself; its other children
 * are ignored
 */
export const watchResident = (pids: readonly number[], childrenOfOwn: () => readonly number[] = () => []): Watch => {
  const seen = pids.map((pid) => ({
    pid,
    began: residentOf(pid),
    peak: residentOf(pid),
    childPeak: 0,
    children: new Set<number>(),
  }));
  const look = () => {
    for (const one of seen) {
      one.peak = Math.max(one.peak, residentOf(one.pid));
      for (const child of one.pid === process.pid ? childrenOfOwn() : childrenOf(one.pid)) {
        const resident = residentOf(child);
        if (isStillParent(child, one.pid)) continue;
        one.children.add(child);
        one.childPeak = Math.max(one.childPeak, resident);
      }
    }
  };
  const timer = existsSync("/proc/self/status") ? setInterval(look, EVERY_MS) : undefined;
  return {
    stop: () => {
      clearInterval(timer);
      return seen.map(({ began, peak, childPeak, children }) => ({
        ...{ beganMb: Math.round(began / MIB), peakMb: Math.round(peak / MIB), childPeakMb: Math.round(childPeak / MIB) },
        children: children.size,
      }));
    },
  };
};
