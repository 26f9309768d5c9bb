// Where strangers' bytes are looked at: asks a confined child, and turns whatever becomes of it into an answer or a refusal.
import { open } from "node:fs/promises";
import { joined, rangeOf, Unreadable } from "../byte-source.ts";
import { type ChildrenOptions, createChildPool } from "./child-pool.ts";
import type { Ending, Meter, Sink, Source, Why } from "./child-process.ts";
import type { ConfinementReport } from "./confine.ts";
import type { Claimant } from "./fair-queue.ts";
import { FIRST_BYTES } from "./frames.ts";
import type { JobName, JobOptions, JobReply } from "./jobs.ts";

/** Nothing is known of the file: there was no child, or no processor for it, in time. */
export class Busy extends Error {}

/** The file kept its child busy beyond a bound, or ended it: what it holds is not known. */
export class Overtaxing extends Unreadable {}

export type SandboxRequest = {
  source: Source;
  /** Where the file goes that the job makes. */
  sink?: Sink;
  who: Claimant;
  /** Ends the job, and the wait for a child. */
  signal: AbortSignal;
  /** Longest wait for a child, ms; without it the signal alone ends the wait. */
  waitMs?: number;
  /** The same for all jobs of one file that is looked at again, when more of it is there. */
  meter?: Meter;
};

export type Sandbox = {
  /**
   * Has a file looked at, or another made of it.
   * @throws Unreadable whatever the file did to its child; Busy; and what the source or the sink throws, as it is
   */
  run<J extends JobName>(job: J, options: JobOptions<J>, asked: SandboxRequest): Promise<JobReply<J>>;
  /** The bounds that the children are held to here; undefined where none can be started. */
  held(): Promise<ConfinementReport | undefined>;
  /** Process ids of the children. */
  pids(): number[];
  close(): Promise<void>;
};

const SAID: Record<Exclude<Why, "starved" | "unborn">, string> = {
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
  throw new Overtaxing(SAID[ending.why]);
};

/** Rejects as soon as the signal says so; what is under way ends by itself. */
const orAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise: ended, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(new Unreadable("it took too long to read"));
  signal.addEventListener("abort", stop, { once: true });
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  return ended;
};

/** Opens the sandbox; its first child starts with the first job. */
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

/** A file in memory. */
export const inMemory = (chunks: readonly Uint8Array[]): Source => {
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return {
    sizeBytes,
    first: rangeOf(chunks, 0, Math.min(sizeBytes, FIRST_BYTES)),
    read: async (start, _, most) => rangeOf(chunks, start, most),
  };
};

/** Reads up to here are in memory of their own; larger ones are in one piece of memory that is used again. */
const SMALL_READ_BYTES = 256 * 1024;

/** A file on our own disk; what is read is there until the next read. @param fault what is thrown where the disk does not give it */
export const onDisk = (path: string, sizeBytes: number, fault: () => Error): Source => {
  // A job may read a file of hundreds of megabytes: what it leaves behind would be in memory until a collection.
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
