// The bounds that a child puts upon itself before it reads a byte: memory, processor time, files, network, and who it may bother.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { writeFileSync } from "node:fs";
import { filterOf } from "./seccomp-filter.ts";

/** What a child is held to. What the system does not grant is left to the watch of the parent. */
export type Bounds = {
  /** 0 where the system runs no program within a bound of address space. */
  addressBytes: number;
  cpuS: number;
  openFiles: number;
};

/** Which bounds hold, as the child tells them. */
export type ConfinementReport = {
  /** Address space, processor, cores, open and written files. */
  limits: boolean;
  /** It has a network of its own, which leads nowhere. */
  network: boolean;
  /** It may open no socket, begin no process, write no file and send nobody a signal. */
  calls: boolean;
  /** It ends with its parent. */
  tied: boolean;
};

export const NO_CONFINEMENT: ConfinementReport = { limits: false, network: false, calls: false, tied: false };

const LIBRARIES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
  darwin: ["libSystem.B.dylib"],
};

const SYMBOLS = {
  setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
} as const;
const LINUX_SYMBOLS = {
  ...SYMBOLS,
  prctl: { args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
  unshare: { args: [FFIType.i32], returns: FFIType.i32 },
} as const;

/** The numbers of `setrlimit`, which differ between systems. */
const RESOURCES = {
  linux: { cpu: 0, fileSize: 1, core: 4, openFiles: 7, address: 9 },
  darwin: { cpu: 0, fileSize: 1, core: 4, openFiles: 8, address: 5 },
} as const;

const [PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS] = [1, 22, 38];
const SECCOMP_MODE_FILTER = 2;
const SIGKILL = 9;
const [CLONE_NEWUSER, CLONE_NEWNET] = [0x1000_0000, 0x4000_0000];

const opened = <T extends Parameters<typeof dlopen>[1]>(symbols: T) => {
  for (const name of LIBRARIES[process.platform] ?? []) {
    try {
      return dlopen(name, symbols).symbols;
    } catch {
      // The next name may be this system's.
    }
  }
  return undefined;
};

type Calls = NonNullable<ReturnType<typeof opened<typeof SYMBOLS>>>;

const limit = (calls: Calls, of: (typeof RESOURCES)["linux" | "darwin"], bounds: Bounds): boolean => {
  const set = (resource: number, most: number) =>
    calls.setrlimit(resource, ptr(BigUint64Array.of(BigInt(most), BigInt(most)))) === 0;
  return [
    set(of.core, 0),
    set(of.fileSize, 0),
    set(of.openFiles, bounds.openFiles),
    set(of.cpu, bounds.cpuS),
    bounds.addressBytes === 0 || set(of.address, bounds.addressBytes),
  ].every(Boolean);
};

/** What else Linux has. @param parent who started this process: when that is somebody else by now, it has ended already. */
const confineLinux = (parent: number): Omit<ConfinementReport, "limits"> => {
  const calls = opened(LINUX_SYMBOLS);
  if (!calls) return { network: false, calls: false, tied: false };
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // Where it cannot be said, the kernel chooses by itself.
  }
  // Both at once need no right, if this process has one thread only; the second alone is for who has the right.
  const network = calls.unshare(CLONE_NEWUSER | CLONE_NEWNET) === 0 || calls.unshare(CLONE_NEWNET) === 0;
  const tied = calls.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) === 0;
  if (process.ppid !== parent) process.exit(0);
  calls.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const filter = filterOf(process.arch, process.pid);
  if (!filter) return { network, tied, calls: false };
  const program = new DataView(new ArrayBuffer(16));
  program.setUint16(0, filter.length / 8, true);
  program.setBigUint64(8, BigInt(ptr(filter)), true);
  return {
    network,
    tied,
    calls: calls.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ptr(program.buffer as ArrayBuffer), 0, 0) === 0,
  };
};

/** Confines this process, for good: what it becomes by `execve` is confined from its first byte on. */
export const confine = (bounds: Bounds, parent: number): ConfinementReport => {
  const calls = opened(SYMBOLS);
  const resources = RESOURCES[process.platform as "linux" | "darwin"];
  if (!calls || !resources) return NO_CONFINEMENT;
  const more = process.platform === "linux" ? confineLinux(parent) : { network: false, calls: false, tied: false };
  // Last, since this process has more address space by now than it allows itself.
  return { ...more, limits: limit(calls, resources, bounds) && process.platform === "linux" };
};
