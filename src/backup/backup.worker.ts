// Backup thread: creates, verifies and restores backups without blocking the main thread.
import { setPriority } from "node:os";
import { checkBackup } from "./check.ts";
import { createBackup } from "./create.ts";
import { BackupError, type Progress, textOf } from "./errors.ts";
import { restoreBackup } from "./restore.ts";
import type { FromThread, ToThread, WorkerRequest } from "./worker-client.ts";

declare const self: Worker;

/** On Linux a priority belongs to a thread, so the threads that serve requests run first. */
const MODEST = 10;
/** Minimum interval in milliseconds between progress lines of one kind; a line of another kind is sent at once. */
const REPORT_MS = 200;

const carryOut = (requested: WorkerRequest, progress: Progress) => {
  if ("create" in requested) return { made: createBackup(requested.create, progress) };
  if ("check" in requested) return { checked: checkBackup(requested.check, progress) };
  return { restored: restoreBackup(requested.restore, progress) };
};

const createReporter = (report: (message: FromThread) => void): Progress["report"] => {
  let kind = "";
  let reportedMono = 0;
  return (line) => {
    const now = performance.now();
    const without = line.replace(/\d+/g, "");
    if (without === kind && now - reportedMono < REPORT_MS) return;
    [kind, reportedMono] = [without, now];
    report({ report: line });
  };
};

self.onmessage = ({ data: { requested, stop } }: MessageEvent<ToThread>) => {
  const report = (message: FromThread) => self.postMessage(message);
  const flag = new Int32Array(stop);
  if (process.platform === "linux") setPriority(MODEST);
  const throwIfStopped = () => {
    if (Atomics.load(flag, 0) !== 0) throw new BackupError("stopped", "stopped: no files remain");
  };
  try {
    report({ done: carryOut(requested, { report: createReporter(report), throwIfStopped }) });
  } catch (fault) {
    const name = fault instanceof Error ? fault.name : "";
    report({ fault: { name, kind: fault instanceof BackupError ? fault.kind : null, message: textOf(fault) } });
  }
};
