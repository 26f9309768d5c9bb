// Takes one sample of a running service, from outside and through its control socket, and formats it as a line.
import { Database } from "bun:sqlite";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fetchStats } from "../../src/cli/control-client.ts";
import type { Load } from "./load.ts";
import { percentile } from "./times.ts";

const MB = 1024 * 1024;

export type Sample = {
  /** Time since the load began, s; and the number of the service's process, from 1. */
  atS: number;
  life: number;
  submitted: number;
  succeeded: number;
  failed: number;
  /** Counts in the database just before and just after the request to the service, which may be slow to respond. */
  inFlightBefore: number;
  inFlight: number;
  /** Running and queued generations by the service's count, and statecharts in memory (restored on demand after a restart). */
  hosted: number;
  awake: number;
  /** Resident memory and heap; after the warm-up both are read right after a full collection. */
  rssMb: number;
  heapMb: number;
  files: number;
  walMb: number;
  lagMs: number;
  postMs: number;
  readMs: number;
};

/** Resident memory of a process, as the kernel counts it. */
const rssMb = (pid: number): number => {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kb ?? 0) / 1024;
};

const walBytes = (dir: string): number => statSync(join(dir, "genrouter.db-wal"), { throwIfNoEntry: false })?.size ?? 0;

/** Samples the service of a data directory. Its database connection stays open between samples, without a transaction. */
export const openSampler = (dir: string, load: Load) => {
  const db = new Database(join(dir, "genrouter.db"), { readonly: true });
  const inFlight = db.query<{ n: number }, []>("SELECT coalesce(sum(in_progress), 0) AS n FROM balance");
  return {
    look: async (pid: number, life: number, atS: number, isWarm: boolean): Promise<Sample> => {
      const inFlightBefore = inFlight.get()?.n ?? 0;
      // Judged figures are read after a full collection, because the collector's delay is random. Before the warm-up ends, no
      // collection is forced: a heap that is collected every few seconds reaches its natural size only when it is judged.
      const figures = await fetchStats(dir, { collect: isWarm });
      const { postMs, readMs } = load.takeTimes();
      const { submitted, succeeded, failed } = load.tally;
      return {
        atS,
        life,
        submitted,
        succeeded,
        failed,
        inFlightBefore,
        inFlight: inFlight.get()?.n ?? 0,
        hosted: figures.running + figures.queued,
        awake: figures.live,
        rssMb: rssMb(pid),
        heapMb: figures.heapBytes / MB,
        files: readdirSync(`/proc/${pid}/fd`).length,
        walMb: walBytes(dir) / MB,
        lagMs: figures.lagP99Ms,
        postMs: percentile(postMs, 0.99),
        readMs: percentile(readMs, 0.99),
      };
    },
    close: () => db.close(),
  };
};

const COLUMNS: readonly (readonly [head: string, width: number, show: (one: Sample) => string])[] = [
  ["elapsed", 7, ({ atS }) => `${Math.floor(Math.round(atS) / 60)}:${String(Math.round(atS) % 60).padStart(2, "0")}`],
  ["submitted", 9, ({ submitted }) => String(submitted)],
  ["succeeded", 9, ({ succeeded }) => String(succeeded)],
  ["failed", 6, ({ failed }) => String(failed)],
  ["in flight", 9, ({ inFlight }) => String(inFlight)],
  ["actors", 6, ({ awake }) => String(awake)],
  ["RSS MB", 7, ({ rssMb: mb }) => mb.toFixed(1)],
  ["heap MB", 7, ({ heapMb }) => heapMb.toFixed(1)],
  ["files", 5, ({ files }) => String(files)],
  ["WAL MB", 6, ({ walMb }) => walMb.toFixed(1)],
  ["lag p99", 7, ({ lagMs }) => lagMs.toFixed(1)],
  ["POST p99", 8, ({ postMs }) => postMs.toFixed(1)],
  ["GET p99", 7, ({ readMs }) => readMs.toFixed(1)],
];

export const HEAD = COLUMNS.map(([head, width]) => head.padStart(width)).join("  ");
export const lineOf = (one: Sample): string => COLUMNS.map(([, width, show]) => show(one).padStart(width)).join("  ");
