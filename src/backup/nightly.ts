// Backups of a running service: nightly with hourly retries, and at the request of an operator; one at a time.

import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import { newestVerifiedMs } from "./backup-directory.ts";
import type { CreatedBackup } from "./create.ts";
import { BackupError, textOf } from "./errors.ts";
import { makeBackup, type Work } from "./worker-client.ts";

/** A backup that runs now. `by`: who asked for it; null for the nightly one. `step`: its progress, as on a terminal. */
export type RunningBackup = { startedAtMs: number; by: string | null; step: string };
/** The last backup since the start. `fault`: why it failed, or why it is not verified; null for a verified one. */
export type EndedBackup = { startedAtMs: number; by: string | null; tookMs: number; path: string | null; fault: string | null };
export type BackupState = { running: RunningBackup | null; last: EndedBackup | null };

export type Nightly = {
  /** False without `backup.dir`. */
  isConfigured: boolean;
  /** Begins a backup that is kept until someone deletes it, unless one runs already. @returns whether it began. */
  begin(by: string): boolean;
  state(): BackupState;
  /** Schedules the first backup. */
  start(): void;
  /** Stops a running backup at its next step and waits for it, at most `longestMs`. */
  stop(longestMs: number): Promise<void>;
};
export type NightlyDeps = {
  settings: Pick<Settings, "backup" | "data" | "files">;
  /** The id of the database, which selects its backups. */
  lineage: string;
  version: string;
  clock: Clock;
  log: Log;
};

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Delay of an overdue backup after a start. */
const SOON_MS = MINUTE_MS;
const RETRY_MS = 3_600_000;

/** The first time after `nowMs` with the time of day `at` (UTC, such as 03:30). */
export const nextAt = (nowMs: number, at: string): number => {
  const [hours = 0, minutes = 0] = at.split(":").map(Number);
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS + (hours * 60 + minutes) * MINUTE_MS;
  return today > nowMs ? today : today + DAY_MS;
};

/** An unreadable directory has no known backup; the next attempt reports the error. */
const newestIn = (dir: string, lineage: string): number | null => {
  try {
    return newestVerifiedMs(dir, lineage);
  } catch {
    return null;
  }
};

const NONE: Nightly = {
  isConfigured: false,
  begin: () => false,
  state: () => ({ running: null, last: null }),
  start: () => undefined,
  stop: async () => undefined,
};

type Runner = Pick<Nightly, "state"> & {
  /** @param by who asked for it; null for the nightly one. @returns whether a backup was made. */
  make(by: string | null): Promise<boolean>;
  /** Stops a running backup at its next step. */
  cancel(): void;
};

/** Makes one backup at a time, and remembers the last one. Errors are logged. */
const createRunner = ({ settings, version, clock, log }: NightlyDeps): Runner => {
  const { dir, keep } = settings.backup;
  const state: BackupState = { running: null, last: null };
  let underWay: Work<CreatedBackup> | null = null;
  let isCancelled = false;

  /** @returns the first error of the originals; null if the backup is verified. */
  const logMade = (made: CreatedBackup, dur_ms: number): string | null => {
    const [first] = made.faults;
    const what = { detail: made.path, count: made.entries, dur_ms };
    const reason = first && `${made.faults.length} errors in the data directory, the first: ${first.path}: ${first.why}`;
    if (reason) log("backup verification failed", { ...what, reason });
    else log("backup finished", what);
    if (made.stays !== null) log("backup failed", { reason: `older backups could not be removed: ${made.stays}` });
    return reason ?? null;
  };
  const logFailed = (fault: unknown, dur_ms: number): void => {
    if (isCancelled && fault instanceof BackupError && fault.kind === "stopped") log("backup canceled");
    else log("backup failed", { reason: textOf(fault), dur_ms });
  };

  return {
    state: () => state,
    cancel: () => {
      isCancelled = true;
      underWay?.stop();
    },
    make: async (by) => {
      const startedAtMs = clock.nowMs();
      const running: RunningBackup = { startedAtMs, by, step: "" };
      const over = (path: string | null, fault: string | null) => {
        state.last = { startedAtMs, by, tookMs: clock.nowMs() - startedAtMs, path, fault };
      };
      state.running = running;
      log("backup started", { detail: dir });
      underWay = makeBackup(
        {
          ...{ dataDir: settings.data.dir, dir, version, filesStore: settings.files.store, keep: by === null ? keep : null },
          ...{ madeBy: by === null ? "nightly" : "command", withMasterKey: false, aheadMs: startedAtMs - Date.now() },
        },
        (line) => {
          running.step = line;
        },
      );
      try {
        const made = await underWay.result;
        over(made.path, logMade(made, clock.nowMs() - startedAtMs));
        return true;
      } catch (fault) {
        over(null, textOf(fault));
        logFailed(fault, clock.nowMs() - startedAtMs);
        return false;
      } finally {
        underWay = null;
        state.running = null;
      }
    },
  };
};

/** Does nothing without `backup.dir`. The time of day is that of the service's clock, which neither jumps nor runs backwards. */
export const createNightly = (deps: NightlyDeps): Nightly => {
  const { settings, lineage, clock } = deps;
  const { dir, at } = settings.backup;
  if (dir === "") return NONE;
  const runner = createRunner(deps);
  let ended: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  let takeBack: () => void = () => undefined;

  const makeNightly = async (): Promise<void> => {
    const nextMs = (await runner.make(null)) ? Number.POSITIVE_INFINITY : clock.nowMs() + RETRY_MS;
    armAt(Math.min(nextMs, nextAt(clock.nowMs(), at)));
  };
  const armAt = (atMs: number): void => {
    if (isStopped) return;
    takeBack = clock.after(Math.max(0, atMs - clock.nowMs()), () => {
      // It logs its errors and schedules the next backup. One that an operator has begun ends before.
      ended = runner.state().running === null ? makeNightly() : ended.then(makeNightly);
    });
  };

  return {
    isConfigured: true,
    begin: (by) => {
      if (runner.state().running !== null || isStopped) return false;
      ended = runner.make(by);
      return true;
    },
    state: runner.state,
    start: () => {
      const newestMs = newestIn(dir, lineage);
      const isOverdue = newestMs === null || clock.nowMs() - newestMs > DAY_MS;
      armAt(isOverdue ? clock.nowMs() + SOON_MS : nextAt(clock.nowMs(), at));
    },
    stop: async (longestMs) => {
      isStopped = true;
      takeBack();
      runner.cancel();
      let wake: () => void = () => undefined;
      const patience = new Promise<void>((over) => {
        wake = clock.after(longestMs, over);
      });
      await Promise.race([ended, patience]);
      wake();
    },
  };
};
