// Disk report for an operator: file system, free space and fsync latency.
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";

export type Disk = {
  /** The name of the file system, or its number if the table does not contain it. */
  kind: string;
  freeBytes: number;
  /** Latency of a page write with fsync, ms. */
  syncMs: { p50: number; p99: number; longest: number; syncs: number };
  /** Reasons against the use of this disk. */
  warnings: string[];
};

/** File system types of Linux's statfs. Network file systems are absent, because the store refuses them by the same number. */
const KINDS = new Map([
  [0xef53, "ext4"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x2fc12fc1, "zfs"],
  [0xf2f52010, "f2fs"],
  [0x794c7630, "overlayfs"],
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
  [0x65735546, "fuse"],
  [0x01021997, "9p"],
  [0x6a656a63, "virtiofs"],
]);
const ABOUT: Record<string, string> = {
  tmpfs: "it is memory and is lost at a power failure; choose a directory on a disk",
  ramfs: "it is memory and is lost at a power failure; choose a directory on a disk",
  overlayfs: "it is the layer of a container and is deleted with the container; choose a volume",
  fuse: "a program implements it: only that program can guarantee a sync",
  "9p": "another machine or the host implements it: only they can guarantee a sync",
};

const PAGE_BYTES = 4096;
const MAX_SYNCS = 500;
const MAX_MS = 1500;
const SCARCE_BYTES = 1e9;
/** Faster than any durable write. */
const TOO_FAST_MS = 0.004;
/** A submission waits for a few fsyncs before its response. */
const SLOW_MS = 20;

const measureSyncs = (dir: string): Disk["syncMs"] => {
  const path = join(dir, "sync");
  const page = Buffer.alloc(PAGE_BYTES, 7);
  const file = openSync(path, "a");
  const took: number[] = [];
  const endMono = performance.now() + MAX_MS;
  while (took.length < MAX_SYNCS && performance.now() < endMono) {
    writeSync(file, page);
    const beganMono = performance.now();
    fdatasyncSync(file);
    took.push(performance.now() - beganMono);
  }
  closeSync(file);
  rmSync(path);
  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round((took[Math.floor((took.length - 1) * share)] ?? 0) * 1000) / 1000;
  return { p50: at(0.5), p99: at(0.99), longest: at(1), syncs: took.length };
};

/** Measures the disk of a writable directory, for at most two seconds. */
export const measureDisk = (dir: string): Disk => {
  const { type, bavail, bsize } = statfsSync(dir);
  const number = Number(type) >>> 0;
  const kind = (process.platform === "linux" ? KINDS.get(number) : undefined) ?? `file system 0x${number.toString(16)}`;
  const freeBytes = bavail * bsize;
  const syncMs = measureSyncs(dir);
  const warnings: string[] = [];
  if (ABOUT[kind]) warnings.push(`${kind}: ${ABOUT[kind]}`);
  else if (syncMs.p50 < TOO_FAST_MS)
    warnings.push(
      `a sync takes ${syncMs.p50} ms, which no disk can do: a layer acknowledges too early, and a power failure can lose data`,
    );
  if (syncMs.p50 > SLOW_MS)
    warnings.push(`a sync takes ${syncMs.p50} ms: every submission waits for it; a faster disk helps most`);
  if (freeBytes < SCARCE_BYTES) warnings.push(`only ${Math.round(freeBytes / 1e6)} MB are free`);
  return { kind, freeBytes, syncMs, warnings };
};
