// One look at a running service, from outside and from inside, and the line that is printed of it.
import { Database } from "bun:sqlite";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fetchStats } from "../../src/cli/control-client.ts";
import type { Load } from "./load.ts";
import { percentile } from "./times.ts";

const MB = 1024 * 1024;

export type Sample = {
  /** Since the load began, s; and which life of the service, from 1. */
  atS: number;
  life: number;
  submitted: number;
  succeeded: number;
  failed: number;
  /** In the database, just before and just after the service was asked: a busy one takes its time to answer. */
  inFlightBefore: number;
  inFlight: number;
  /** Generations that the service says it runs or keeps in line, and machines in its memory: after a restart each wakes when it is needed. */
  hosted: number;
  awake: number;
  /** Resident in all, and the heap; once the life is warm, right after a full collection: what is really kept. */
  rssMb: number;
  heapMb: number;
  files: number;
  walMb: number;
  lagMs: number;
  postMs: number;
  readMs: number;
};

/** Resident memory of a process, by the kernel's own count. */
const rssMb = (pid: number): number => {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kb ?? 0) / 1024;
};

const walBytes = (dir: string): number => statSync(join(dir, "genrouter.db-wal"), { throwIfNoEntry: false })?.size ?? 0;

/** Looks at the service of a data directory. A connection to its database stays open between the looks, without a transaction. */
export const openSampler = (dir: string, load: Load) => {
  const db = new Database(join(dir, "genrouter.db"), { readonly: true });
  const inFlight = db.query<{ n: number }, []>("SELECT coalesce(sum(in_progress), 0) AS n FROM balance");
  return {
    look: async (pid: number, life: number, atS: number, isWarm: boolean): Promise<Sample> => {
      const inFlightBefore = inFlight.get()?.n ?? 0;
      // What is judged is read after a full collection: how late the collector happens to be says nothing. Before, it is left alone: a
      // heap that is emptied every few seconds does not take the room that it takes by itself, and comes to it when it is judged.
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
