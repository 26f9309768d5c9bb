// Opens a data directory as its owner; the write connection is in a worker thread.

import { join } from "node:path";
import { StoreFull, StoreUnknown } from "../../domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import type { Credits } from "../../domain/types.ts";
import type { Migrated } from "../migration-report.ts";
import type { Mode, Store } from "../store.ts";
import { requireNoCorruption } from "./corruption-check.ts";
import { claimDirectory, inodeOf } from "./directory-lock.ts";
import { withCorruptionErrors } from "./errors.ts";
import { newestGenerationOf, ownDatabase } from "./initialize.ts";
import { DATABASE_FILE, DEFAULT_PRAGMAS, openReader, openWriter, type Pragmas } from "./open.ts";
import { readsOver } from "./reads.ts";
import { markLog, missLog, unmarkLog } from "./wal-sentinel.ts";
import type { FromWriter, ToWriter } from "./worker.ts";
import { outcomesFromText, toLines } from "./worker-protocol.ts";

export type StoreOptions = {
  dir: string;
  /** Absent: an existing directory keeps its mode, a new one is created for real providers (`live`). */
  mode?: Mode;
  /** Refuses a directory without a database. */
  requireExisting?: boolean;
  /** Accepts a network file system, whose locks are not reliable. */
  allowNetworkDisk?: boolean;
  pragmas?: Partial<Pragmas>;
  /** Available credits below which the balance of an account without its own threshold is low; absent: never. */
  lowBalanceCredits?: Credits;
  /** Called when the schema was migrated to this release. */
  migrated?: (migrated: Migrated) => void;
};

/** Client of the writer thread; responses arrive in the order of the messages. */
type Writer = { send(message: ToWriter): Promise<FromWriter>; end(): void };

const startWriter = (): Writer => {
  // The thread's garbage is short-lived text. A small heap collects it early and keeps memory flat.
  const worker = new Worker(new URL("./worker.ts", import.meta.url).href, { smol: true });
  const waiting: { done(answer: FromWriter): void; lost(fault: Error): void }[] = [];
  let broken: Error | undefined;
  const fail = (why: string): void => {
    broken ??= new StoreUnknown(`the writing thread stopped: ${why}`);
    for (const { lost } of waiting.splice(0)) lost(broken);
  };
  worker.onmessage = ({ data }: MessageEvent<FromWriter>) => {
    const requested = waiting.shift();
    if (waiting.length === 0) worker.unref();
    requested?.done(data);
  };
  worker.onerror = (event) => fail(event.message);
  worker.addEventListener("close", () => fail("it ended"));
  // An idle thread does not keep the process alive; a pending message does.
  worker.unref();
  return {
    send: (message) =>
      new Promise((done, lost) => {
        if (broken) return lost(broken);
        if (waiting.push({ done, lost }) === 1) worker.ref();
        worker.postMessage(message);
      }),
    end: () => {
      broken ??= new StoreUnknown("the store is closed");
      worker.terminate();
    },
  };
};

/** `lostTo`: why this process must not write any more; checked at every commit. */
const commitThrough =
  (writer: Writer, lostTo: () => string | null) =>
  async (mutations: readonly Mutation[]): Promise<MutationResult[]> => {
    const why = lostTo();
    if (why !== null) throw new StoreUnknown(why);
    const answer = await writer.send(toLines(mutations));
    if (typeof answer === "string") return outcomesFromText(answer, mutations);
    if ("full" in answer) throw new StoreFull(answer.full);
    throw new StoreUnknown("unknown" in answer ? answer.unknown : "the writing thread answered something else");
  };

type Opened = { epoch: number; newestGeneration: number };
/** Prepares the file before the writer thread opens it, so that the caller receives errors. */
const beginEpoch = (path: string, { mode, migrated }: StoreOptions, pragmas: Pragmas): Opened => {
  const db = openWriter(path, pragmas);
  try {
    requireNoCorruption(db, path);
    const epoch = ownDatabase(db, path, mode, Date.now(), migrated);
    return { epoch, newestGeneration: newestGenerationOf(db) };
  } finally {
    db.close();
  }
};

/**
 * Opens a data directory as its only owner, and creates it if it is new.
 * @throws DirectoryInUse, DirectoryUnusable, StoreDamaged (errors.ts), StoreMigrated, WrongMode, WrongSchema (../errors.ts), one
 * line each.
 */
export const openSqliteStore = async (options: StoreOptions): Promise<Store> => {
  const path = join(options.dir, DATABASE_FILE);
  const pragmas = { ...DEFAULT_PRAGMAS, ...options.pragmas };
  const allows = { networkDisk: options.allowNetworkDisk ?? false, creation: !options.requireExisting };
  const claim = withCorruptionErrors(path, () => claimDirectory(options.dir, allows));
  try {
    const { epoch, newestGeneration } = withCorruptionErrors(path, () => {
      missLog(options.dir);
      unmarkLog(options.dir);
      return beginEpoch(path, options, pragmas);
    });
    const writer = startWriter();
    await writer.send({ open: { path, epoch, pragmas, lowBalanceCredits: options.lowBalanceCredits ?? 0 } });
    markLog(options.dir);
    const reads = withCorruptionErrors(path, () => readsOver(openReader(path)));
    const inode = inodeOf(path) ?? 0;
    return {
      ...reads,
      ...{ node: null, newestGeneration },
      commit: commitThrough(writer, () => claim.lostTo(path, inode)),
      close: async () => {
        unmarkLog(options.dir);
        await reads.close();
        await writer.send({ close: true }).catch(() => undefined);
        writer.end();
        claim.release();
      },
    };
  } catch (fault) {
    claim.release();
    throw fault;
  }
};
