// Runs jobs on untrusted bytes in confined children, and maps failures to errors.
import { open } from "node:fs/promises";
import { joined } from "../../collections/chunks.ts";
import type { Claimant } from "../../collections/fair-queue.ts";
import { rangeOf, Unreadable } from "../byte-source.ts";
import { type ChildrenOptions, createChildPool } from "./child-pool.ts";
import type { Ending, Meter, Sink, Source, Why } from "./child-process.ts";
import type { ConfinementReport } from "./confine.ts";
import { FIRST_BYTES } from "./frames.ts";
import type { JobName, JobOptions, JobReply } from "./jobs.ts";

/** No child or no CPU was available in time, which implies nothing about the file. */
export class Busy extends Error {}

/** The file made its child exceed a bound or exit, so its content is unknown. */
export class Overtaxing extends Unreadable {}

export type SandboxRequest = {
  source: Source;
  /** Destination of the file that the job creates. */
  sink?: Sink;
  who: Claimant;
  /** Aborts the job and the wait for a child. */
  signal: AbortSignal;
  /** Maximum wait for a child, ms; if absent, only the signal ends the wait. */
  waitMs?: number;
  /** Shared by all jobs of one file that is inspected again when more bytes are available. */
  meter?: Meter;
};

export type Sandbox = {
  /**
   * Runs a job on a file.
   * @throws Unreadable for any failure that the file causes in its child; Busy; and the errors of the source or the sink,
   * unchanged
   */
  run<J extends JobName>(job: J, options: JobOptions<J>, requested: SandboxRequest): Promise<JobReply<J>>;
  /** The confinement report of the children on this system; undefined if no child can be started. */
  held(): Promise<ConfinementReport | undefined>;
  /** Process ids of the children. */
  pids(): number[];
  close(): Promise<void>;
};

const END_TEXT: Record<Exclude<Why, "starved" | "unborn">, string> = {
  cpu: "it takes more work to read than a real file does",
  wall: "it takes longer to read than a real file does",
  memory: "it takes more memory to read than a real file does",
  protocol: "it cannot be read",
  exit: "it cannot be read",
};

const outcome = (ending: Ending | undefined): unknown => {
  if (ending === undefined) throw new Busy("nothing was free to read it in time");
  if (ending.kind === "done") return ending.reply;
  if (ending.kind === "unreadable") throw new Unreadable(ending.message);
  if (ending.kind === "denied") throw ending.fault;
  if (ending.why === "starved" || ending.why === "unborn") throw new Busy("there was nothing to read it with");
  throw new Overtaxing(END_TEXT[ending.why]);
};

/** Rejects as soon as the signal aborts; the running work ends by itself. */
const orAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise: ended, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(new Unreadable("it took too long to read"));
  signal.addEventListener("abort", stop, { once: true });
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  return ended;
};

/** Creates the sandbox; its first child starts with the first job. */
export const createSandbox = (options: ChildrenOptions): Sandbox => {
  const children = createChildPool(options);
  return {
    run: async (job, words, { source, sink, who, signal, waitMs, meter }) => {
      const wait = new AbortController();
      const end = () => wait.abort(signal.reason);
      const timer = waitMs === undefined ? undefined : setTimeout(end, waitMs);
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
      const task = { job, options: words, source, ...(sink ? { sink } : {}), ...(meter ? { meter } : {}) };
      const start = () => clearTimeout(timer);
      try {
        const ending = await orAborted(children.run(task, who, wait.signal, start), signal);
        return outcome(ending) as never;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
      }
    },
    held: children.held,
    pids: children.pids,
    close: children.close,
  };
};

/** A source of bytes in memory. */
export const inMemory = (chunks: readonly Uint8Array[]): Source => {
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return {
    sizeBytes,
    first: rangeOf(chunks, 0, Math.min(sizeBytes, FIRST_BYTES)),
    read: async (start, _, most) => rangeOf(chunks, start, most),
  };
};

/** Reads up to this size allocate their own buffer; larger reads share one reused buffer. */
const SMALL_READ_BYTES = 256 * 1024;

/**
 * A source on local disk. The returned bytes are valid until the next read. @param fault creates the error for a failed disk read
 */
export const onDisk = (path: string, sizeBytes: number, fault: () => Error): Source => {
  // A job may read hundreds of megabytes. Without a reused buffer, they would stay in memory until the next collection.
  let again = new Uint8Array(0);
  const readAgain = async (start: number, length: number): Promise<Uint8Array> => {
    if (again.length < length) again = new Uint8Array(length);
    const file = await open(path, "r");
    try {
      const { bytesRead } = await file.read(again, 0, length, start);
      return again.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  };
  return {
    sizeBytes,
    first: joined([]),
    read: async (start, _, most) => {
      try {
        if (most - start > SMALL_READ_BYTES) return await readAgain(start, most - start);
        return await Bun.file(path).slice(start, most).bytes();
      } catch {
        throw fault();
      }
    },
  };
};
