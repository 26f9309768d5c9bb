// Pool of sandbox children: started on demand, reused, and replaced when spent.
import { setPriority } from "node:os";
import { type Claimant, createFairQueue, type FairQueue } from "../../collections/fair-queue.ts";
import { createBatchResolve } from "./batch-resolve.ts";
import { type Child, type ChildJob, type Ending, startChild, type WatchBounds } from "./child-process.ts";
import { CHILD_ENV, childCommand } from "./command.ts";
import type { Bounds, ConfinementReport } from "./confine.ts";

export type ChildrenOptions = {
  /** Maximum number of concurrent children. */
  workers: number;
  /** The command line of a child; tests substitute other programs. */
  command?: (bounds: Bounds) => readonly string[];
  bounds?: Partial<WatchBounds>;
  /** Niceness of the children, 19 if absent. Tests set a lower one, because their clocks are accelerated. */
  niceness?: number;
};

export type Children = {
  /** Runs a job; undefined if the signal ended the wait for a child. `began` is called when the wait ends. */
  run(task: ChildJob, who: Claimant, signal: AbortSignal, began: () => void): Promise<Ending | undefined>;
  /** Starts a child if none is running, and returns its confinement report. */
  held(): Promise<ConfinementReport | undefined>;
  /** Process ids of the running children. */
  pids(): number[];
  close(): Promise<void>;
};

const MIN_PRIORITY = 19;
const MIB = 1024 * 1024;
const BOUNDS: Bounds = { addressBytes: 512 * MIB, cpuS: 120, openFiles: 64 };
const WATCH: WatchBounds = { residentBytes: 192 * MIB, starvedMs: 15_000, everyMs: 10, mostJobs: 10_000, mostCpuMs: 60_000 };
/** A start that takes longer has failed. */
const START_MS = 10_000;
/** After a failed start, no other start is attempted for this time. */
const PAUSE_MS = 1000;
/** While other jobs wait, finished jobs return in batches of this size. */
const GROUP = { most: 64, longestMs: 150 };
/** Estimated duration of a job before it has run, ms. */
const USUAL_MS = 10;

/** Lowers the priority only after the start. Until then the child has read no untrusted bytes, and a job waits for it. */
const standBehind = (pid: number, niceness: number) => {
  try {
    setPriority(pid, niceness);
  } catch {
    // The process has exited, or the system does not support priorities.
  }
};

const OURSELVES: Claimant = { share: "service", account: "" };

/** Above this resident memory of earlier jobs, a memory overrun is not attributed to the current file alone. */
const KEPT_LITTLE_BYTES = 80 * 1024 * 1024;

export const createChildPool = ({
  workers,
  command = childCommand,
  bounds,
  niceness = MIN_PRIORITY,
}: ChildrenOptions): Children => {
  const line: FairQueue = createFairQueue({ places: workers, perAccount: workers, cost: USUAL_MS });
  const groups = createBatchResolve(GROUP);
  const watched = { ...WATCH, ...bounds };
  const living = new Set<Child>();
  const idle: Child[] = [];
  let isClosed = false;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  /** Set to 0 if the system cannot run a program within the address-space limit. Resident memory is watched in either case. */
  let addressBytes = BOUNDS.addressBytes;

  const startOne = async (): Promise<Child | undefined> => {
    const child = startChild(command({ ...BOUNDS, addressBytes }), { ...CHILD_ENV }, watched);
    living.add(child);
    void child.ended.then(() => {
      living.delete(child);
      const at = idle.indexOf(child);
      if (at !== -1) idle.splice(at, 1);
    });
    const late = setTimeout(() => child.end(), START_MS);
    const held = await child.ready;
    clearTimeout(late);
    if (held) standBehind(child.pid, niceness);
    return held ? child : undefined;
  };
  const born = async (): Promise<Child | undefined> => {
    if (isClosed || performance.now() - failedAtMs < PAUSE_MS) return undefined;
    const first = await startOne().catch(() => undefined);
    if (first || isClosed) return first;
    const before = addressBytes;
    addressBytes = 0;
    const second = await startOne().catch(() => undefined);
    if (second) return second;
    addressBytes = before;
    failedAtMs = performance.now();
    return undefined;
  };
  const rest = (child: Child) => {
    if (child.isSpent() || isClosed) child.end();
    else idle.push(child);
  };
  const runIn = async (used: Child | undefined, task: ChildJob, signal: AbortSignal): Promise<Ending> => {
    const child = used ?? (await born());
    if (!child) return { kind: "over", why: "unborn" };
    const ending = await child.run(task, signal);
    rest(child);
    return ending;
  };
  const runInAny = async (task: ChildJob, signal: AbortSignal): Promise<Ending> => {
    const used = idle.pop();
    const hasKept = used !== undefined && used.keptBytes() > KEPT_LITTLE_BYTES;
    const ending = await runIn(used, task, signal);
    // Leftovers of earlier jobs are not the fault of this file. If a used child exits by itself, or exceeds its memory with
    // leftovers, the job is retried once in a new child.
    const isDoubtful =
      used !== undefined && ending.kind === "over" && (ending.why === "exit" || (ending.why === "memory" && hasKept));
    return isDoubtful && !isClosed && !signal.aborted ? runIn(undefined, task, signal) : ending;
  };
  return {
    run: async (task, who, signal, began) => {
      const leave = await line.take(who, signal);
      if (!leave) return undefined;
      const begunMs = performance.now();
      began();
      const ending = await runInAny(task, signal).finally(() => leave(performance.now() - begunMs));
      if (line.waiting() > 0) await groups.join();
      else groups.release();
      return ending;
    },
    held: async () => {
      const leave = await line.take(OURSELVES, new AbortController().signal);
      const child = idle.pop() ?? (await born());
      const held = await child?.ready;
      if (child) rest(child);
      leave?.(0);
      return held;
    },
    pids: () => [...living].map(({ pid }) => pid),
    close: async () => {
      isClosed = true;
      const all = [...living];
      for (const child of all) child.end();
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
};
