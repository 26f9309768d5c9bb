// Writer thread: it owns the write connection, so that fsync never blocks the main thread.
import type { Database } from "bun:sqlite";
import { StoreFull } from "../../domain/commit-errors.ts";
import type { Credits } from "../../domain/types.ts";
import { type Batch, createBatchRunner } from "./batch.ts";
import { faultText } from "./errors.ts";
import { openWriter, type Pragmas } from "./open.ts";
import { fromLines, outcomesToText } from "./worker-protocol.ts";

/** Messages to the thread: open, close, or a batch of mutations as lines. */
export type ToWriter =
  | { open: { path: string; epoch: number; pragmas: Pragmas; lowBalanceCredits: Credits } }
  | { close: true }
  | string;
/** Responses in order: the results of a batch as text, or one of these. */
export type FromWriter = { opened: true } | { closed: true } | { full: string } | { unknown: string } | string;

declare const self: Worker;

/** Idle time in milliseconds before the WAL is checkpointed and truncated. */
const IDLE_MS = 2000;

let db: Database | undefined;
let batch: Batch | undefined;
let idle: ReturnType<typeof setTimeout> | undefined;
/** Time in milliseconds in which the WAL is truncated after an erasure, because its frames contain the earlier texts. */
const ERASED_MS = 10_000;
let erased: ReturnType<typeof setTimeout> | undefined;

const answer = (message: FromWriter): void => self.postMessage(message);

/** @returns whether the WAL is empty. */
const foldLog = (): boolean => {
  try {
    return db?.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
  } catch {
    // A reader blocks it or the disk is full: the WAL stays, and a later attempt follows.
    return false;
  }
};

/** A service that is never idle truncates the WAL as well. */
const foldAfterErasure = (): void => {
  erased ??= setTimeout(() => {
    erased = undefined;
    if (!foldLog()) foldAfterErasure();
  }, ERASED_MS);
};

const write = (text: string): FromWriter => {
  if (!batch) return { unknown: "the writing thread was not opened" };
  try {
    const mutations = fromLines(text);
    const outcomes = batch(mutations);
    if (mutations.some(({ mutation }) => mutation === "erase-generation")) foldAfterErasure();
    return outcomesToText(outcomes);
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
    batch = createBatchRunner(db, message.open.epoch, message.open.lowBalanceCredits);
    answer({ opened: true });
    return;
  }
  clearTimeout(idle);
  clearTimeout(erased);
  foldLog();
  batch = undefined;
  db?.close();
  answer({ closed: true });
};
