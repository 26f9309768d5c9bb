// One child as the service keeps it: a job is handed over, its bytes are given as they are asked for, and bounds are watched.
import { existsSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Unreadable } from "../byte-source.ts";
import type { ConfinementReport } from "./confine.ts";
import {
  createFrames,
  decodeWanted,
  decodeWrite,
  FIRST_BYTES,
  FROM_CHILD,
  type Frame,
  frameOf,
  headerOf,
  SENTENCE,
  TO_CHILD,
} from "./frames.ts";
import { JOBS, type JobBounds, type JobHead, type JobName, REPLIES } from "./jobs.ts";
import { createMemoryMeter, type MemoryMeter, type Usage, usageOf } from "./process-usage.ts";

/** The file of a job, as the service has it. */
export type Source = {
  readonly sizeBytes: number;
  /** Its first bytes, as far as they are at hand; they save a journey. */
  readonly first: Uint8Array;
  /** All from `start` to `least`, and more up to `most` where it costs nothing. What it throws ends the job and is thrown to whoever asked for it. */
  read(start: number, least: number, most: number): Promise<Uint8Array>;
};

/** Where the output of a job goes; the file is open and belongs to whoever asked for the job. */
export type Sink = { mostBytes: number; write(place: number, bytes: Uint8Array): Promise<void> };

/** What one file has cost so far, in all the jobs that looked at it: together they have the time of one. */
export type Meter = { cpuMs: number };

export type ChildJob = { job: JobName; options: object; source: Source; sink?: Sink; meter?: Meter };

/** `over`: the child has passed a bound, or is gone; it takes no more. */
export type Ending =
  | { kind: "done"; reply: unknown }
  | { kind: "unreadable"; message: string }
  | { kind: "denied"; fault: unknown }
  | { kind: "over"; why: Why };
/** `starved`: the machine gave it no processor, so that nothing is known of the file. `unborn`: it ended before it could take a job. */
export type Why = "cpu" | "wall" | "memory" | "protocol" | "exit" | "starved" | "unborn";

export type Child = {
  readonly pid: number;
  /** Resolves to the bounds that hold, once it can take a job; undefined where it ended before. */
  readonly ready: Promise<ConfinementReport | undefined>;
  /** One at a time. The signal takes the file away from it; it ends by itself then. */
  run(task: ChildJob, signal: AbortSignal): Promise<Ending>;
  /** Whether it had better be replaced. */
  isSpent(): boolean;
  /** Memory that its jobs so far have left resident, bytes; 0 before the first. */
  keptBytes(): number;
  end(): void;
  readonly ended: Promise<void>;
};

export type WatchBounds = {
  residentBytes: number;
  /** A job that could not run, for want of a processor, is given up so much later than one that ran. */
  starvedMs: number;
  /** Memory is looked at so often, and everything else, which grows no faster than time, each tenth time. */
  everyMs: number;
  /** After so many jobs, and after so much processor time, it is replaced. */
  mostJobs: number;
  mostCpuMs: number;
  /** Instead of what the job's own line says. */
  ofJob?: JobBounds;
};

/** After a job it may have kept so much memory, and so much address space, and takes another all the same. */
const KEPT_BYTES = 128 * 1024 * 1024;
const KEPT_ADDRESS_BYTES = 400 * 1024 * 1024;
const HELD = TypeCompiler.Compile(
  Type.Object({ limits: Type.Boolean(), network: Type.Boolean(), calls: Type.Boolean(), tied: Type.Boolean() }),
);

/** What it holds is looked at after each job; everything else, which grows slowly, after long ones and each so many. */
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
  /** Time in which the service fetched bytes or wrote them, ms: it is not the child's. And since when it does so now. */
  servedMs: number;
  servingSinceMs: number | undefined;
};

const jobFrame = ({ job, options, source }: ChildJob): Uint8Array<ArrayBuffer> => {
  const head: JobHead = { job, options, sizeBytes: source.sizeBytes };
  const words = text.encode(JSON.stringify(head));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, words.length, true);
  return frameOf(TO_CHILD.job, length, words, source.first.subarray(0, FIRST_BYTES));
};

const WHOLE_LOOK_EVERY = 10;
const NO_USAGE: Usage = { cpuMs: 0, residentBytes: 0, addressBytes: 0, waitedMs: 0 };

/** Looks at a job every so often; one that is over before the first look costs none. @returns what ends the looking */
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
    // What was over before anybody looked took at most the time that went by.
    meter.cpuMs += before
      ? Math.min(took(), WHOLE_LOOK_EVERY * bounds.everyMs + (usageOf(pid)?.cpuMs ?? 0) - before.cpuMs)
      : took();
  };
};

/** What a child prints belongs in no log. A root directory without devices has nothing that could take it, so a pipe that is closed does. */
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
  /** A child that is gone is told by its exit. */
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
    if (job.denied) return post(frameOf(TO_CHILD.denied));
    const given = bytes.subarray(0, wanted.most - wanted.start);
    // Not in one frame: that would be a copy of all of it.
    post(headerOf(TO_CHILD.bytes, given.length), given);
  };
  const take = async (job: Running, payload: Uint8Array<ArrayBuffer>) => {
    const { sink } = job.task;
    const written = decodeWrite(payload);
    if (!sink || !written || written.place + written.bytes.length > sink.mostBytes) return over("protocol");
    await serve(job, () => sink.write(written.place, written.bytes));
  };
  const finish = (job: Running, { kind, payload }: Frame) => {
    const said = kind === FROM_CHILD.done ? parsed(payload) : textOf(payload);
    const isRight = kind === FROM_CHILD.done ? REPLIES[job.task.job].Check(said) : SENTENCE.test(String(said));
    if (job.denied) end({ kind: "denied", fault: job.denied.fault });
    else if (!isRight) over("protocol");
    else if (kind === FROM_CHILD.done) end({ kind: "done", reply: said });
    else end({ kind: "unreadable", message: String(said) });
  };
  const hear = async (frame: Frame): Promise<void> => {
    const job = running;
    if (isOver) return;
    if (frame.kind === FROM_CHILD.ready) {
      const held = parsed(frame.payload);
      if (HELD.Check(held)) born.resolve(held);
      else over("protocol");
    } else if (!job) over("protocol");
    else if (frame.kind === FROM_CHILD.read) await give(job, frame.payload);
    else if (frame.kind === FROM_CHILD.write) await take(job, frame.payload);
    else finish(job, frame);
  };
  /** One frame after the other: so a child cannot pile up what it asks for, nor what it writes. */
  const listen = async () => {
    const heard: Frame[] = [];
    const pieceOf = createFrames((frame) => heard.push(frame));
    for await (const piece of proc.stdout) {
      const isRight = pieceOf(piece);
      for (const frame of heard.splice(0)) await hear(frame);
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
