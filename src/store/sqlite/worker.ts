// The writing thread: owns the one connection that writes, so that waiting for the disk never blocks the door.
import type { Database } from "bun:sqlite";
import { StoreFull } from "../mutations.ts";
import { type Batch, createBatchRunner } from "./batch.ts";
import { faultText } from "./errors.ts";
import { openWriter, type Pragmas } from "./open.ts";
import { fromLines, outcomesToText } from "./worker-protocol.ts";

/** What the thread is told: to open, to close, or a batch of mutations as lines. */
export type ToWriter = { open: { path: string; epoch: number; pragmas: Pragmas } } | { close: true } | string;
/** What it answers, one for each message in order: a batch's outcomes as text, or one of these. */
export type FromWriter = { opened: true } | { closed: true } | { full: string } | { unknown: string } | string;

declare const self: Worker;

/** After this long without a batch the log is folded into the file and cut, ms. */
const IDLE_MS = 2000;

let db: Database | undefined;
let batch: Batch | undefined;
let idle: ReturnType<typeof setTimeout> | undefined;

const answer = (message: FromWriter): void => self.postMessage(message);

const foldLog = (): void => {
  try {
    db?.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // A reader is in the way or the disk is full: the log stays, and the next commit or idle moment tries again.
  }
};

const write = (text: string): FromWriter => {
  if (!batch) return { unknown: "the writing thread was not opened" };
  try {
    return outcomesToText(batch(fromLines(text)));
  } catch (fault) {
    // What follows an unknown outcome must not be written either: the process is about to end.
    if (!(fault instanceof StoreFull)) batch = undefined;
    return fault instanceof StoreFull ? { full: fault.message } : { unknown: faultText(fault) };
  }
};

self.onmessage = ({ data: message }: MessageEvent<ToWriter>) => {
  if (typeof message === "string") {
    answer(write(message));
    clearTimeout(idle);
    idle = setTimeout(foldLog, IDLE_MS);
    return;
  }
  if ("open" in message) {
    db = openWriter(message.open.path, message.open.pragmas);
    batch = createBatchRunner(db, message.open.epoch);
    answer({ opened: true });
    return;
  }
  clearTimeout(idle);
  foldLog();
  batch = undefined;
  db?.close();
  answer({ closed: true });
};
