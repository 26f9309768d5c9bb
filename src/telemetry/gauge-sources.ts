// Gauge sources: implements the readings of a scrape, with cheap reads only.
import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import { newestVerifiedMs } from "../backup/backup-directory.ts";
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { ResultStorage } from "../files/create-storage.ts";
import type { Routes } from "../routing/route-table.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { LINEAGE, lineageFrom } from "../store/sqlite/database-id.ts";
import { DATABASE_FILE } from "../store/sqlite/open.ts";
import type { StoreReads } from "../store/store.ts";
import type { GaugeReadings, RouteReading } from "./gauge-readings.ts";

/** The backup directory is read at most this often, because its manifests can be long. */
const BACKUP_CHECK_MS = 60_000;

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const spaceAt = (dir: string): Promise<{ freeBytes: number; sizeBytes: number } | undefined> =>
  statfs(dir).then(
    ({ bavail, blocks, bsize }) => ({ freeBytes: bavail * bsize, sizeBytes: blocks * bsize }),
    () => undefined,
  );

const BREAKERS: Readonly<Record<string, RouteReading["breaker"]>> = { closed: "closed", open: "open", halfOpen: "half_open" };

export type GaugeSourcesDeps = {
  settings: Settings;
  clock: Clock;
  engine: {
    routes: Pick<Routes, "catalogue" | "state">;
    readiness: () => { ready: boolean };
    isDiskFull: () => boolean;
    health: Pick<CircuitBreakers, "states" | "setUpFaults">;
    stuck: { count: GaugeReadings["stuck"] };
  };
  /** The number of live nodes. */
  nodes: () => number;
  /** Files that wait for the bucket; null without a bucket. */
  waiting: ResultStorage["waiting"];
  /** Whether the shared database is unavailable; absent with a data directory. */
  isUnavailable?: (() => boolean) | undefined;
  /** Tries in flight, and since when the oldest delivery to a healthy endpoint is due. */
  webhooks: () => { dueSinceMs: number | null };
  reads: GaugeReadings["reads"] & Pick<StoreReads, "secret" | "orphans">;
};

/** Prometheus allows a scrape 10 s; a read without a database connection retries for longer. */
const MAX_READ_MS = 5_000;

export const createGaugeSources = ({
  settings,
  clock,
  engine,
  nodes,
  reads,
  waiting,
  isUnavailable,
  webhooks,
}: GaugeSourcesDeps): GaugeReadings => {
  const isFile = settings.store.url === "";
  const path = join(settings.data.dir, DATABASE_FILE);
  const inTime = <T>(requested: Promise<T>): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => resolve(undefined), MAX_READ_MS);
      requested.then(resolve, reject).finally(() => clearTimeout(late));
    });
  let looked: { atMs: number; newestS: number } | null = null;
  /**
   * The time of the newest verified backup of this database, s since 1970; 0 if there is none or the directory cannot be read.
   */
  const newestBackupS = async (): Promise<number> => {
    const lineage = lineageFrom(await reads.secret(LINEAGE));
    try {
      return Math.floor((newestVerifiedMs(settings.backup.dir, lineage) ?? 0) / 1000);
    } catch {
      return 0;
    }
  };
  return {
    nowMs: clock.nowMs,
    isReady: () => engine.readiness().ready,
    stuck: engine.stuck.count,
    isDiskFull: engine.isDiskFull,
    disk: () => spaceAt(settings.data.dir),
    bucket: () => {
      const now = waiting();
      return { isAvailable: now?.reason == null, waiting: now?.files ?? 0, setAside: now?.setAside ?? 0 };
    },
    webhookDelayS: () => {
      const { dueSinceMs } = webhooks();
      return dueSinceMs === null ? 0 : Math.max(0, clock.nowMs() - dueSinceMs) / 1000;
    },
    clockAheadS: () => Math.round(clock.aheadMs?.() ?? 0) / 1000,
    isStoreAvailable: () => !isUnavailable?.(),
    whereReached: async (ask) => {
      if (isUnavailable === undefined) return await ask();
      if (isUnavailable()) return undefined;
      try {
        return await inTime(ask());
      } catch (fault) {
        if (fault instanceof DatabaseUnavailable) return undefined;
        throw fault;
      }
    },
    routes: () => {
      const [breakers, faults] = [engine.health.states(), engine.health.setUpFaults()];
      return engine.routes.catalogue().models.flatMap((model) =>
        model.routes.flatMap(({ id, provider }): RouteReading[] => {
          const state = engine.routes.state(id);
          const breaker = BREAKERS[breakers.get(id) ?? "closed"] ?? "closed";
          if (state === "unconfigured") return [];
          const setUpFault = faults.get(id)?.class ?? null;
          return [{ routeId: id, model: model.id, provider, isUp: state === "up", breaker, setUpFault }];
        }),
      );
    },
    reads,
    orphans: async () => {
      // A database file is read in a separate thread, because the read can cover all its attempts.
      if (!isFile || !existsSync(path)) return reads.orphans(0);
      const { createParallelReads } = await import("../store/sqlite/verify/parallel.ts");
      return createParallelReads(path).orphans(0);
    },
    nodes,
    databaseBytes: () => (isFile ? sizeOf(path) + sizeOf(`${path}-wal`) : undefined),
    lastBackupS: async () => {
      // If the service makes no backups, the age of other backups is unknown here.
      if (!isFile || settings.backup.dir === "") return undefined;
      const nowMs = clock.nowMs();
      if (looked === null || nowMs - looked.atMs >= BACKUP_CHECK_MS) looked = { atMs: nowMs, newestS: await newestBackupS() };
      return looked.newestS;
    },
  };
};
