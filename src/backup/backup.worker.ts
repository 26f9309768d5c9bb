// Backup thread: creates, verifies and restores backups without blocking the main thread.
import { setPriority } from "node:os";
import { checkBackup } from "./check.ts";
import { createBackup } from "./create.ts";
import { BackupFault, type Going, textOf } from "./errors.ts";
import { restoreBackup } from "./restore.ts";
import type { FromThread, ToThread, WorkerRequest } from "./worker-client.ts";

declare const self: Worker;

/** On Linux a priority belongs to a thread, so the threads that serve requests run first. */
const MODEST = 10;
/** Minimum interval in milliseconds between progress lines of one kind; a line of another kind is sent at once. */
const TELL_MS = 200;

const carryOut = (asked: WorkerRequest, going: Going) => {
  if ("create" in asked) return { made: createBackup(asked.create, going) };
  if ("check" in asked) return { checked: checkBackup(asked.check, going) };
  return { restored: restoreBackup(asked.restore, going) };
};

const openTelling = (say: (message: FromThread) => void): Going["tell"] => {
  let kind = "";
  let toldMono = 0;
  return (line) => {
    const now = performance.now();
    const without = line.replace(/\d+/g, "");
    if (without === kind && now - toldMono < TELL_MS) return;
    [kind, toldMono] = [without, now];
    say({ tell: line });
  };
};

self.onmessage = ({ data: { asked, stop } }: MessageEvent<ToThread>) => {
  const say = (message: FromThread) => self.postMessage(message);
  const flag = new Int32Array(stop);
  if (process.platform === "linux") setPriority(MODEST);
  const goOn = () => {
    if (Atomics.load(flag, 0) !== 0) throw new BackupFault("stopped", "stopped: nothing was left behind");
  };
  try {
    say({ done: carryOut(asked, { tell: openTelling(say), goOn }) });
  } catch (fault) {
    const name = fault instanceof Error ? fault.name : "";
    say({ fault: { name, kind: fault instanceof BackupFault ? fault.kind : null, message: textOf(fault) } });
  }
};
