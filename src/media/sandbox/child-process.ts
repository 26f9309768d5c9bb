// Runs jobs in one sandbox child: serves its reads and enforces its bounds.
import { existsSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { schemaCheck } from "../../domain/compiled-schema.ts";
import { Unreadable } from "../byte-source.ts";
import type { ConfinementReport } from "./confine.ts";
import {
  createFrames,
  decodeWanted,
  decodeWrite,
  FIRST_BYTES,
  FRAMES_FROM_CHILD,
  FRAMES_TO_CHILD,
  type Frame,
  frameOf,
  headerOf,
  SENTENCE,
} from "./frames.ts";
import { JOBS, type JobBounds, type JobHead, type JobName, REPLIES } from "./jobs.ts";
import { createMemoryMeter, type MemoryMeter, type Usage, usageOf } from "./process-usage.ts";

/** The file of a job, on the side of the service. */
export type Source = {
  readonly sizeBytes: number;
  /** The first bytes, as far as they are available; they save a round trip. */
  readonly first: Uint8Array;
  /**
   * Returns all bytes from `start` to `least`, and more up to `most` if they are available at no cost. An error ends the job and
   * is rethrown to the caller of the job.
   */
  read(start: number, least: number, most: number): Promise<Uint8Array>;
};

/** Destination of the output of a job. The file is open and owned by the caller of the job. */
export type Sink = { mostBytes: number; write(place: number, bytes: Uint8Array): Promise<void> };

/** CPU time that a file has used in all its jobs. The jobs of one file share the bound of one job. */
export type Meter = { cpuMs: number };

export type ChildJob = { job: JobName; options: object; source: Source; sink?: Sink; meter?: Meter };

/** `over`: the child has exceeded a bound or has exited, and accepts no more jobs. */
export type Ending =
  | { kind: "done"; reply: unknown }
  | { kind: "unreadable"; message: string }
  | { kind: "denied"; fault: unknown }
  | { kind: "over"; why: Why };
/**
 * `starved`: the system gave the child no CPU, which implies nothing about the file. `unborn`: the child exited before it could
 * accept a job.
 */
export type Why = "cpu" | "wall" | "memory" | "protocol" | "exit" | "starved" | "unborn";

export type Child = {
  readonly pid: number;
  /** Resolves to the confinement report when the child can accept a job; undefined if the child exited before. */
  readonly ready: Promise<ConfinementReport | undefined>;
  /** Runs one job at a time. An abort denies the child further reads of the file, after which the child ends the job itself. */
  run(task: ChildJob, signal: AbortSignal): Promise<Ending>;
  /** Reports whether the child should be replaced. */
  isSpent(): boolean;
  /** Resident memory left by its jobs so far, bytes; 0 before the first. */
  keptBytes(): number;
  end(): void;
  readonly ended: Promise<void>;
};

export type WatchBounds = {
  residentBytes: number;
  /** A job that could not run for lack of CPU is aborted this much later than a job that ran, ms. */
  starvedMs: number;
  /** Interval of the memory check, ms. Every tenth check also covers CPU and wall time, which grow no faster than time. */
  everyMs: number;
  /** The child is replaced after this number of jobs or this CPU time. */
  mostJobs: number;
  mostCpuMs: number;
  /** Overrides the bounds of the job's definition. */
  ofJob?: JobBounds;
};

/** A child with up to this much resident memory and address space after a job may be reused. */
const KEPT_BYTES = 128 * 1024 * 1024;
const KEPT_ADDRESS_BYTES = 400 * 1024 * 1024;
const HELD = schemaCheck(
  Type.Object({ limits: Type.Boolean(), network: Type.Boolean(), calls: Type.Boolean(), tied: Type.Boolean() }),
);

/** Resident memory is checked after each job. Slower-growing values are checked after long jobs and after every 32nd job. */
const LONG_MS = 100;
const LOOKED_AFTER = 32;

const text = new TextEncoder();
const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);
const parsed = (payload: Uint8Array): unknown => {
  try {
    return JSON.parse(textOf(payload));
  } catch {
    return undefined;
  }
};

type Running = {
  task: ChildJob;
  end: (ending: Ending) => void;
  denied?: { fault: unknown };
  /**
   * Time in which the service fetched or wrote bytes, ms; it is not charged to the child. `servingSinceMs` is the start of the
   * current call.
   */
  servedMs: number;
  servingSinceMs: number | undefined;
};

const jobFrame = ({ job, options, source }: ChildJob): Uint8Array<ArrayBuffer> => {
  const head: JobHead = { job, options, sizeBytes: source.sizeBytes };
  const words = text.encode(JSON.stringify(head));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, words.length, true);
  return frameOf(FRAMES_TO_CHILD.job, length, words, source.first.subarray(0, FIRST_BYTES));
};

const WHOLE_LOOK_EVERY = 10;
const NO_USAGE: Usage = { cpuMs: 0, residentBytes: 0, addressBytes: 0, waitedMs: 0 };

/** Checks a running job at intervals; a job that ends before the first check causes none. @returns stops the checks */
const watch = (
  { pid, memory }: { pid: number; memory: MemoryMeter },
  job: Running,
  bounds: WatchBounds,
  over: (why: Why) => void,
): (() => void) => {
  const { cpuMs, wallMs } = bounds.ofJob ?? JOBS[job.task.job].bounds;
  const { meter } = job.task;
  const begunMs = performance.now();
  const spentMs = meter?.cpuMs ?? 0;
  let before: Usage | undefined;
  let looks = 0;
  const took = () => (job.servingSinceMs ?? performance.now()) - begunMs - job.servedMs;
  const look = () => {
    looks += 1;
    if (memory.residentBytes() > bounds.residentBytes) return over("memory");
    if (looks % WHOLE_LOOK_EVERY !== 0) return;
    const now = usageOf(pid) ?? before ?? NO_USAGE;
    before ??= now;
    const tookMs = took();
    if (spentMs + now.cpuMs - before.cpuMs > cpuMs) over("cpu");
    else if (tookMs - (now.waitedMs - before.waitedMs) > wallMs) over("wall");
    else if (tookMs > wallMs + bounds.starvedMs) over("starved");
  };
  const timer = setInterval(look, bounds.everyMs);
  return () => {
    clearInterval(timer);
    if (!meter) return;
    // A job that ended before a full check used at most the elapsed time.
    meter.cpuMs += before
      ? Math.min(took(), WHOLE_LOOK_EVERY * bounds.everyMs + (usageOf(pid)?.cpuMs ?? 0) - before.cpuMs)
      : took();
  };
};

/** Output of a child is never logged. If the root directory has no /dev/null, the output is sent to a closed pipe. */
const NO_ERRORS = process.platform === "win32" || existsSync("/dev/null") ? "ignore" : "pipe";

/** Starts a child. */
export const startChild = (command: readonly string[], env: Record<string, string>, bounds: WatchBounds): Child => {
  const proc = Bun.spawn([...command], { stdin: "pipe", stdout: "pipe", stderr: NO_ERRORS, env, cwd: "/", windowsHide: true });
  if (typeof proc.stderr === "object") void proc.stderr.cancel();
  proc.unref();
  const memory = createMemoryMeter(proc.pid);
  const born = Promise.withResolvers<ConfinementReport | undefined>();
  let running: Running | undefined;
  let isOver = false;
  let jobs = 0;
  let isWorn = false;
  let keptBytes = 0;

  const end = (ending: Ending) => {
    const ended = running;
    running = undefined;
    ended?.end(ending);
  };
  const over = (why: Why) => {
    if (isOver) return;
    isOver = true;
    proc.kill("SIGKILL");
    born.resolve(undefined);
    end({ kind: "over", why });
  };
  /** A child that has exited is reported by its exit. */
  const post = (...parts: Uint8Array[]) => {
    try {
      for (const sent of [...parts.map((part) => proc.stdin.write(part as Uint8Array<ArrayBuffer>)), proc.stdin.flush()])
        Promise.resolve(sent).catch(() => undefined);
    } catch {
      over("exit");
    }
  };
  const serve = async (job: Running, work: () => Promise<void>) => {
    const begunMs = performance.now();
    job.servingSinceMs = begunMs;
    try {
      if (!job.denied) await work();
    } catch (fault) {
      job.denied ??= { fault };
    }
    job.servingSinceMs = undefined;
    job.servedMs += performance.now() - begunMs;
  };
  const give = async (job: Running, payload: Uint8Array) => {
    const wanted = decodeWanted(payload, job.task.source.sizeBytes);
    if (!wanted) return over("protocol");
    let bytes: Uint8Array = new Uint8Array(0);
    await serve(job, async () => {
      bytes = await job.task.source.read(wanted.start, wanted.least, wanted.most);
      if (bytes.length < wanted.least - wanted.start) throw new Unreadable("it ends too early");
    });
    if (running !== job) return;
    if (job.denied) return post(frameOf(FRAMES_TO_CHILD.denied));
    const given = bytes.subarray(0, wanted.most - wanted.start);
    // Sent in two parts, because a single frame would copy all bytes.
    post(headerOf(FRAMES_TO_CHILD.bytes, given.length), given);
  };
  const take = async (job: Running, payload: Uint8Array<ArrayBuffer>) => {
    const { sink } = job.task;
    const written = decodeWrite(payload);
    if (!sink || !written || written.place + written.bytes.length > sink.mostBytes) return over("protocol");
    await serve(job, () => sink.write(written.place, written.bytes));
  };
  const finish = (job: Running, { kind, payload }: Frame) => {
    const declared = kind === FRAMES_FROM_CHILD.done ? parsed(payload) : textOf(payload);
    const isRight = kind === FRAMES_FROM_CHILD.done ? REPLIES[job.task.job].Check(declared) : SENTENCE.test(String(declared));
    if (job.denied) end({ kind: "denied", fault: job.denied.fault });
    else if (!isRight) over("protocol");
    else if (kind === FRAMES_FROM_CHILD.done) end({ kind: "done", reply: declared });
    else end({ kind: "unreadable", message: String(declared) });
  };
  const receive = async (frame: Frame): Promise<void> => {
    const job = running;
    if (isOver) return;
    if (frame.kind === FRAMES_FROM_CHILD.ready) {
      const held = parsed(frame.payload);
      if (HELD.Check(held)) born.resolve(held);
      else over("protocol");
    } else if (!job) over("protocol");
    else if (frame.kind === FRAMES_FROM_CHILD.read) await give(job, frame.payload);
    else if (frame.kind === FRAMES_FROM_CHILD.write) await take(job, frame.payload);
    else finish(job, frame);
  };
  /** Processes frames sequentially, so that a child cannot queue an unbounded number of reads or writes. */
  const listen = async () => {
    const frames: Frame[] = [];
    const pieceOf = createFrames((frame) => frames.push(frame));
    for await (const piece of proc.stdout) {
      const isRight = pieceOf(piece);
      for (const frame of frames.splice(0)) await receive(frame);
      if (!isRight) over("protocol");
    }
  };
  listen().catch(() => over("protocol"));
  const ended = proc.exited.then(() => {
    memory.close();
    over("exit");
  });

  const run = (task: ChildJob, signal: AbortSignal): Promise<Ending> => {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    if (isOver || running) return Promise.resolve({ kind: "over", why: "exit" });
    const job: Running = { task, end: resolve, servedMs: 0, servingSinceMs: undefined };
    running = job;
    jobs += 1;
    const callOff = () => {
      job.denied ??= { fault: signal.reason };
    };
    signal.addEventListener("abort", callOff, { once: true });
    const look = watch({ pid: proc.pid, memory }, job, bounds, over);
    const begunMs = performance.now();
    post(jobFrame(task));
    return promise.finally(() => {
      look();
      signal.removeEventListener("abort", callOff);
      const isLookedAt = performance.now() - begunMs >= LONG_MS || jobs % LOOKED_AFTER === 0;
      keptBytes = memory.residentBytes();
      if (isOver || !(isLookedAt || keptBytes > KEPT_BYTES)) return;
      const { cpuMs, residentBytes, addressBytes } = usageOf(proc.pid) ?? NO_USAGE;
      isWorn =
        jobs >= bounds.mostJobs || cpuMs > bounds.mostCpuMs || residentBytes > KEPT_BYTES || addressBytes > KEPT_ADDRESS_BYTES;
    });
  };
  const isSpent = () => isOver || isWorn;
  return { pid: proc.pid, ready: born.promise, run, isSpent, keptBytes: () => keptBytes, end: () => over("exit"), ended };
};
