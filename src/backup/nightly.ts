// Nightly backups of a running service: daily, one at a time, with hourly retries.

import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import { newestVerifiedMs } from "./backup-directory.ts";
import type { CreatedBackup } from "./create.ts";
import { BackupError, textOf } from "./errors.ts";
import { makeBackup, type Work } from "./worker-client.ts";

export type Nightly = {
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

const NONE: Nightly = { start: () => undefined, stop: async () => undefined };

/** Does nothing without `backup.dir`. The time of day is that of the service's clock, which neither jumps nor runs backwards. */
export const createNightly = ({ settings, lineage, version, clock, log }: NightlyDeps): Nightly => {
  const { dir, at, keep } = settings.backup;
  if (dir === "") return NONE;
  let underWay: Work<CreatedBackup> | null = null;
  let ended: Promise<void> = Promise.resolve();
  let isStopped = false;
  let takeBack: () => void = () => undefined;

  const logMade = (made: CreatedBackup, dur_ms: number): void => {
    const [first] = made.faults;
    const what = { detail: made.path, count: made.entries, dur_ms };
    if (first)
      log("backup verification failed", {
        ...what,
        reason: `${made.faults.length} errors in the data directory, the first: ${first.path}: ${first.why}`,
      });
    else log("backup finished", what);
    if (made.stays !== null) log("backup failed", { reason: `older backups could not be removed: ${made.stays}` });
  };
  const make = async (): Promise<void> => {
    const startedMs = clock.nowMs();
    log("backup started", { detail: dir });
    underWay = makeBackup(
      {
        ...{ dataDir: settings.data.dir, dir, version, keep, filesStore: settings.files.store },
        ...{ madeBy: "nightly", withMasterKey: false, aheadMs: startedMs - Date.now() },
      },
      () => undefined,
    );
    try {
      logMade(await underWay.result, clock.nowMs() - startedMs);
      armAt(nextAt(clock.nowMs(), at));
    } catch (fault) {
      if (isStopped && fault instanceof BackupError && fault.kind === "stopped") return log("backup canceled");
      log("backup failed", { reason: textOf(fault), dur_ms: clock.nowMs() - startedMs });
      armAt(Math.min(clock.nowMs() + RETRY_MS, nextAt(clock.nowMs(), at)));
    } finally {
      underWay = null;
    }
  };
  const armAt = (atMs: number): void => {
    if (isStopped) return;
    takeBack = clock.after(Math.max(0, atMs - clock.nowMs()), () => {
      // It logs its errors and schedules the next backup, so two never run at a time.
      ended = make();
    });
  };

  return {
    start: () => {
      const newestMs = newestIn(dir, lineage);
      const isOverdue = newestMs === null || clock.nowMs() - newestMs > DAY_MS;
      armAt(isOverdue ? clock.nowMs() + SOON_MS : nextAt(clock.nowMs(), at));
    },
    stop: async (longestMs) => {
      isStopped = true;
      takeBack();
      underWay?.stop();
      let wake: () => void = () => undefined;
      const patience = new Promise<void>((over) => {
        wake = clock.after(longestMs, over);
      });
      await Promise.race([ended, patience]);
      wake();
    },
  };
};
