// Confines a child before it reads any byte: memory, CPU, files, network, signals.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { writeFileSync } from "node:fs";
import { filterOf } from "./seccomp-filter.ts";

/** Limits of a child. Limits that the system does not support are enforced by the watch of the parent. */
export type Bounds = {
  /** 0 if the system cannot run a program within an address-space limit. */
  addressBytes: number;
  cpuS: number;
  openFiles: number;
};

/** The confinements that are in effect, as reported by the child. */
export type ConfinementReport = {
  /** Limits on address space, CPU time, core dumps, open files and written files. */
  limits: boolean;
  /** The process has an isolated network namespace without connections. */
  network: boolean;
  /** The process cannot open sockets, start processes, write files or send signals to other processes. */
  calls: boolean;
  /** The process is killed when its parent exits. */
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

/** Resource numbers of `setrlimit`, which differ between systems. */
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
      // The next name may exist on this system.
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

/**
 * Applies the confinements that only Linux has. @param parent the pid that started this process; if the current parent differs,
 * the original parent has already exited
 */
const confineLinux = (parent: number): Omit<ConfinementReport, "limits"> => {
  const calls = opened(LINUX_SYMBOLS);
  if (!calls) return { network: false, calls: false, tied: false };
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // If the score cannot be set, the kernel uses its default.
  }
  // Both namespaces together need no privilege in a single-threaded process. The network namespace alone needs the privilege.
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

/** Confines this process permanently. The program started by `execve` is confined from its first byte. */
export const confine = (bounds: Bounds, parent: number): ConfinementReport => {
  const calls = opened(SYMBOLS);
  const resources = RESOURCES[process.platform as "linux" | "darwin"];
  if (!calls || !resources) return NO_CONFINEMENT;
  const more = process.platform === "linux" ? confineLinux(parent) : { network: false, calls: false, tied: false };
  // Applied last, because this process already uses more address space than the limit allows.
  return { ...more, limits: limit(calls, resources, bounds) && process.platform === "linux" };
};
