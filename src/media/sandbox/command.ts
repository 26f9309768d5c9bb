// How a child is started: this same program, compiled or from its sources, with a word that no command has.
import { fileURLToPath } from "node:url";
import type { Bounds } from "./confine.ts";

/** The word that makes a start of this program a child's. */
export const CHILD_ARGUMENT = "media-child";

/** In a compiled binary the sources lie in a place that is no directory. */
const IS_COMPILED = /^(\/\$bunfs|[a-z]:[\\/]~bun)/i.test(import.meta.dir);

/** The words that start this program, without those of a command. */
export const programArguments = (): string[] => (IS_COMPILED ? [] : [fileURLToPath(new URL("../../main.ts", import.meta.url))]);

/** The program that runs, even where its file has been replaced by a newer one meanwhile. */
const program = (): string => (process.platform === "linux" ? "/proc/self/exe" : process.execPath);

export const childCommand = (bounds: Bounds): string[] => [
  program(),
  ...programArguments(),
  CHILD_ARGUMENT,
  String(process.pid),
  JSON.stringify(bounds),
];

/**
 * With one thread only a process may give itself a network of its own without any right. And address space that the engine and the
 * allocators would set aside for the future is wanted for the pictures of a job.
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
