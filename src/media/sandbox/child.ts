// Main loop of a confined sandbox child: reads jobs and executes them sequentially.
import { readSync, writeSync } from "node:fs";
import { type ByteReader, Unreadable } from "../byte-source.ts";
import { type ConfinementReport, NO_CONFINEMENT } from "./confine.ts";
import {
  encodePosition,
  encodeWanted,
  FRAMES_FROM_CHILD,
  FRAMES_TO_CHILD,
  frameOf,
  HEADER_BYTES,
  MAX_BYTES_A_READ,
  MAX_BYTES_A_WRITE,
  readHeader,
  SENTENCE,
} from "./frames.ts";
import type { Output, Work } from "./job-runner.ts";
import type { JobHead, JobName } from "./jobs.ts";

const [INPUT, OUTPUT] = [0, 1];
const text = new TextEncoder();

/** Minimum size of a read; sequential reads request more. */
const MIN_BLOCK_BYTES = 64 * 1024;
const MAX_BLOCK_BYTES = 1024 * 1024;
const MAX_BLOCKS = 16;

/** Exit codes of a child that cannot continue; they serve only for debugging. */
const ENDS = { over: 0, protocol: 3, fault: 4 } as const;

/** The service denies the bytes and does not expect a reply. */
class Dropped extends Error {}

/** Blocks until exactly `length` bytes have arrived. The child exits if the service has exited. */
const receive = (length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const got = readSync(INPUT, bytes, at, length - at, null);
    if (got === 0) process.exit(ENDS.over);
    at += got;
  }
  return bytes;
};

const receiveFrame = () => {
  const { kind, payloadBytes } = readHeader(receive(HEADER_BYTES));
  return { kind, payload: receive(payloadBytes) };
};

const send = (kind: number, ...parts: readonly Uint8Array[]): void => {
  const frame = frameOf(kind, ...parts);
  for (let at = 0; at < frame.length; ) at += writeSync(OUTPUT, frame, at, frame.length - at);
};

type Block = { start: number; bytes: Uint8Array };

/** The file of a job. Its first bytes arrive with the job; every other range is requested. */
const openFile = (sizeBytes: number, beginning: Uint8Array): ByteReader & { isDropped(): boolean; close(): void } => {
  let blocks: Block[] = [];
  let isOver = false;
  let isDropped = false;
  let reachedTo = 0;
  let blockBytes = MIN_BLOCK_BYTES;

  const known = (start: number): Uint8Array | undefined => {
    if (start < beginning.length) return beginning.subarray(start);
    const block = blocks.find((one) => one.start <= start && start < one.start + one.bytes.length);
    return block?.bytes.subarray(start - block.start);
  };
  const ask = (start: number, least: number): Uint8Array => {
    blockBytes = start === reachedTo ? Math.min(blockBytes * 2, MAX_BLOCK_BYTES) : MIN_BLOCK_BYTES;
    const most = Math.min(sizeBytes, Math.max(least, start + blockBytes), start + MAX_BYTES_A_READ);
    send(FRAMES_FROM_CHILD.read, encodeWanted({ start, least, most }));
    const { kind, payload } = receiveFrame();
    if (kind === FRAMES_TO_CHILD.denied) isDropped = true;
    if (isDropped) throw new Dropped("the bytes are not given");
    if (kind !== FRAMES_TO_CHILD.bytes || payload.length < least - start) process.exit(ENDS.protocol);
    reachedTo = start + payload.length;
    if (payload.length <= MAX_BLOCK_BYTES) blocks = [{ start, bytes: payload }, ...blocks.slice(0, MAX_BLOCKS - 1)];
    return payload;
  };
  return {
    sizeBytes: async () => sizeBytes,
    read: async (start, end) => {
      // A parser left over from an earlier job must not read the file of the next one.
      if (isOver || isDropped) throw new Dropped("the job is over");
      if (!(start >= 0 && start <= end && end <= sizeBytes)) throw new Unreadable("it ends too early");
      const partFrom = (at: number) => (known(at) ?? ask(at, Math.min(end, at + MAX_BYTES_A_READ))).subarray(0, end - at);
      if (start === end) return new Uint8Array(0);
      const first = partFrom(start);
      if (first.length === end - start) return first;
      // The parts are copied into one buffer, so that a large file is in memory once.
      const whole = new Uint8Array(end - start);
      whole.set(first);
      for (let at = start + first.length; at < end; ) {
        const part = partFrom(at);
        whole.set(part, at - start);
        at += part.length;
      }
      return whole;
    },
    isDropped: () => isDropped,
    close: () => {
      isOver = true;
    },
  };
};

/** The output of a job; it rejects writes after the job has ended. */
const openOutput = (): Output & { close(): void } => {
  let isOver = false;
  return {
    write: (place, bytes) => {
      if (isOver) throw new Dropped("the job is over");
      for (let at = 0; at < bytes.length; at += MAX_BYTES_A_WRITE)
        send(FRAMES_FROM_CHILD.write, encodePosition(place + at), bytes.subarray(at, at + MAX_BYTES_A_WRITE));
    },
    close: () => {
      isOver = true;
    },
  };
};

const doJob = async (WORK: Work, payload: Uint8Array<ArrayBuffer>): Promise<void> => {
  const headBytes = new DataView(payload.buffer).getUint32(0, true);
  const head: JobHead = JSON.parse(new TextDecoder().decode(payload.subarray(4, 4 + headBytes)));
  const file = openFile(head.sizeBytes, payload.subarray(4 + headBytes));
  const output = openOutput();
  const work: (file: ByteReader, options: never, output: Output) => Promise<object> = WORK[head.job as JobName];
  try {
    const reply = await work(file, head.options as never, output);
    if (file.isDropped()) send(FRAMES_FROM_CHILD.dropped);
    else send(FRAMES_FROM_CHILD.done, text.encode(JSON.stringify(reply)));
  } catch (fault) {
    if (file.isDropped()) send(FRAMES_FROM_CHILD.dropped);
    // After any other error, such as exhausted memory, the state of the process is undefined.
    else if (!(fault instanceof Unreadable)) process.exit(ENDS.fault);
    else send(FRAMES_FROM_CHILD.unreadable, text.encode(SENTENCE.test(fault.message) ? fault.message : "it cannot be read"));
  } finally {
    file.close();
    output.close();
  }
};

const doJobs = async (held: ConfinementReport): Promise<never> => {
  // Loads all job code before the child reports that it is ready.
  const { WORK } = await import("./job-runner.ts");
  send(FRAMES_FROM_CHILD.ready, text.encode(JSON.stringify(held)));
  for (;;) {
    const { kind, payload } = receiveFrame();
    if (kind !== FRAMES_TO_CHILD.job) process.exit(ENDS.protocol);
    await doJob(WORK, payload);
  }
};

/** Runs a child that has been confined. @param words the confinement report that `entry.ts` passed on the command line */
export const runChild = ([held = ""]: readonly string[]): Promise<never> =>
  doJobs(held === "" ? NO_CONFINEMENT : JSON.parse(held));
