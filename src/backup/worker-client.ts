// Client of the backup thread: one request per thread, with progress and cancellation.
import { WrongSchema } from "../store/errors.ts";
import { DirectoryInUse, DirectoryUnusable, StoreDamaged } from "../store/sqlite/errors.ts";
import type { Checked } from "./check.ts";
import type { CreatedBackup, CreateRequest } from "./create.ts";
import { BackupError, type BackupErrorKind } from "./errors.ts";
import type { Restored, RestoreRequest } from "./restore.ts";

export type WorkerRequest = { create: CreateRequest } | { check: string } | { restore: RestoreRequest };
export type WorkerResponse = { made: CreatedBackup } | { checked: Checked } | { restored: Restored };
export type ToThread = { requested: WorkerRequest; stop: SharedArrayBuffer };
export type FromThread =
  | { report: string }
  | { done: WorkerResponse }
  | { fault: { name: string; kind: BackupErrorKind | null; message: string } };

export type Work<T> = {
  result: Promise<T>;
  /** Stops the work at its next step without leftovers; `result` rejects with `stopped`. */
  stop: () => void;
};

/** Errors that keep their class across the thread; all others become a BackupError with their message. */
const STORE_FAULTS = new Map(Object.entries({ DirectoryInUse, DirectoryUnusable, StoreDamaged, WrongSchema }));
const asFault = ({ name, kind, message }: { name: string; kind: BackupErrorKind | null; message: string }): Error => {
  const known = STORE_FAULTS.get(name);
  return known ? new known(message) : new BackupError(kind ?? "failed", message);
};

const work = <T>(
  requested: WorkerRequest,
  of: (done: WorkerResponse) => T | undefined,
  report: (line: string) => void,
): Work<T> => {
  const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const worker = new Worker(new URL("./backup.worker.ts", import.meta.url).href, { smol: true });
  const result = new Promise<T>((done, lost) => {
    worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
      if ("report" in data) return report(data.report);
      worker.terminate();
      if ("fault" in data) return lost(asFault(data.fault));
      const found = of(data.done);
      return found === undefined ? lost(new BackupError("failed", "the backup thread sent an unexpected message")) : done(found);
    };
    worker.onerror = (event) => lost(new BackupError("failed", `the backup thread stopped: ${event.message}`));
    worker.postMessage({ requested, stop } satisfies ToThread);
  });
  return { result, stop: () => void Atomics.store(new Int32Array(stop), 0, 1) };
};

export const makeBackup = (request: CreateRequest, report: (line: string) => void): Work<CreatedBackup> =>
  work({ create: request }, (done) => ("made" in done ? done.made : undefined), report);
export const verifyBackup = (path: string, report: (line: string) => void): Work<Checked> =>
  work({ check: path }, (done) => ("checked" in done ? done.checked : undefined), report);
export const restoreInWorker = (request: RestoreRequest, report: (line: string) => void): Work<Restored> =>
  work({ restore: request }, (done) => ("restored" in done ? done.restored : undefined), report);
