// Builds the command line that starts a sandbox child from this program.
import { fileURLToPath } from "node:url";
import type { Bounds } from "./confine.ts";

/** The argument that starts this program as a sandbox child. */
export const CHILD_ARGUMENT = "media-child";

/** In a compiled binary, the sources are in a virtual file system, not in a directory. */
const IS_COMPILED = /^(\/\$bunfs|[a-z]:[\\/]~bun)/i.test(import.meta.dir);

/** Arguments that start this program, without those of a command. */
export const programArguments = (): string[] => (IS_COMPILED ? [] : [fileURLToPath(new URL("../../main.ts", import.meta.url))]);

/** The running executable, even if its file has been replaced by a newer version. */
const program = (): string => (process.platform === "linux" ? "/proc/self/exe" : process.execPath);

export const childCommand = (bounds: Bounds): string[] => [
  program(),
  ...programArguments(),
  CHILD_ARGUMENT,
  String(process.pid),
  JSON.stringify(bounds),
];

/**
 * Only a single-threaded process can create a network namespace without privileges. The other variables reduce the address space
 * that the engine and the allocators reserve, because jobs need it for pictures.
 */
export const CHILD_ENV = {
  BUN_JSC_numberOfGCMarkers: "1",
  BUN_JSC_useConcurrentGC: "0",
  BUN_JSC_useConcurrentJIT: "0",
  BUN_JSC_jitMemoryReservationSize: "33554432",
  BUN_JSC_structureHeapSizeInKB: "65536",
  MALLOC_ARENA_MAX: "1",
  MIMALLOC_ARENA_RESERVE: "16MiB",
} as const;
