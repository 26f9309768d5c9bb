// Writer thread: it owns the write connection, so that fsync never blocks the main thread.
import type { Database } from "bun:sqlite";
import { StoreFull } from "../../domain/commit-errors.ts";
import { type Batch, createBatchRunner } from "./batch.ts";
import { faultText } from "./errors.ts";
import { openWriter, type Pragmas } from "./open.ts";
import { fromLines, outcomesToText } from "./worker-protocol.ts";

/** Messages to the thread: open, close, or a batch of mutations as lines. */
export type ToWriter = { open: { path: string; epoch: number; pragmas: Pragmas } } | { close: true } | string;
/** Responses in order: the results of a batch as text, or one of these. */
export type FromWriter = { opened: true } | { closed: true } | { full: string } | { unknown: string } | string;

declare const self: Worker;

/** Idle time in milliseconds before the WAL is checkpointed and truncated. */
const IDLE_MS = 2000;

let db: Database | undefined;
let batch: Batch | undefined;
let idle: ReturnType<typeof setTimeout> | undefined;

const answer = (message: FromWriter): void => self.postMessage(message);

const foldLog = (): void => {
  try {
    db?.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // A reader blocks it or the disk is full: the WAL stays, and a later attempt follows.
  }
};

const write = (text: string): FromWriter => {
  if (!batch) return { unknown: "the writing thread was not opened" };
  try {
    return outcomesToText(batch(fromLines(text)));
  } catch (fault) {
    // After an unknown outcome nothing is written any more; the process is about to exit.
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
